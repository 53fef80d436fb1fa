/** Has writes judged by the functions of design documents (completion 14). */
import type { Database, DocumentWrite, WriteOptions } from '../database/contract.ts';
import type { DatabaseError } from '../errors/database-error.ts';
import type { Program } from '../query-server/contract.ts';
import { must } from '../shared/assert.ts';
import type { Clock } from '../shared/clock.ts';
import { nextTurn } from '../shared/turn.ts';
import type { DesignPrograms, StoredDesign } from './design-programs.ts';
import { type CurrentWrite, currentWrites } from './judged-writes.ts';
import type { Validators } from './write-judge.ts';

export interface ValidationParts {
  readonly programs: DesignPrograms;
  readonly clock: Clock;
}

/** Writes whose bodies are read, and judged, at once. */
const BATCH = 50;
/** Milliseconds after which others have a turn. */
const TURN_MS = 10;

const ADMIN = { name: null, roles: ['_admin'] };

type Verdict = DatabaseError | undefined;

/** Fails with what `DesignPrograms.open` fails with. */
export async function openValidation(
  database: Database,
  designs: readonly StoredDesign[],
  { programs, clock }: ValidationParts,
): Promise<Validators> {
  const opened: Program[] = [];
  for (const design of designs) opened.push(await programs.open(database, design));
  return new Validation(database, opened, clock);
}

class Validation implements Validators {
  readonly #database: Database;
  readonly #programs: readonly Program[];
  readonly #clock: Clock;

  constructor(database: Database, programs: readonly Program[], clock: Clock) {
    this.#database = database;
    this.#programs = programs;
    this.#clock = clock;
  }

  async judge(writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly Verdict[]> {
    const verdicts: Verdict[] = [];
    let turnEnd = this.#clock.monotonic() + TURN_MS;
    for (let start = 0; start < writes.length; start += BATCH) {
      if (this.#clock.monotonic() > turnEnd) {
        await nextTurn();
        turnEnd = this.#clock.monotonic() + TURN_MS;
      }
      verdicts.push(...(await this.#judgeBatch(writes.slice(start, start + BATCH), options)));
    }
    return verdicts;
  }

  async #judgeBatch(writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly Verdict[]> {
    const { name, security } = this.#database;
    const userContext = JSON.stringify({ db: name, ...(options.user ?? ADMIN) });
    const current = await this.#currentWrites(writes, options);
    const verdicts: Verdict[] = current.map(({ refusal }) => refusal);
    for (const program of this.#programs) {
      const asked = [...current.entries()].filter(
        ([index, { newDocument }]) => newDocument !== undefined && verdicts[index] === undefined,
      );
      const texts = asked.map(([, { newDocument, oldDocument }]) => {
        return { newDocument: must(newDocument), oldDocument, userContext, securityObject: security };
      });
      const outcomes = await program.validate(texts);
      for (const [place, [index]] of asked.entries()) verdicts[index] = outcomes[place];
    }
    return verdicts;
  }

  async #currentWrites(writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly CurrentWrite[]> {
    const snapshot = this.#database.snapshot();
    try {
      return await currentWrites(snapshot, writes, options);
    } finally {
      snapshot.release();
    }
  }
}
