/** Has writes judged by the functions of design documents (completion 14). */
import type { Database, DocumentWrite, WriteOptions } from '../database/contract.ts';
import { type DatabaseError, isDatabaseError } from '../errors/database-error.ts';
import type { Program, ValidatedWrite } from '../query-server/contract.ts';
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
type Verdicts = readonly Verdict[];
type Ask = (writes: readonly ValidatedWrite[]) => Promise<Verdicts>;

/**
 * Fails with what `DesignPrograms.open` fails with, but for what will not change by itself: that is a refusal of each
 * write which is judged, since those beside them are none of its business. A better design document may be one of them.
 */
export async function openValidation(
  database: Database,
  designs: readonly StoredDesign[],
  { programs, clock }: ValidationParts,
): Promise<Validators> {
  const asked: Ask[] = [];
  for (const design of designs) {
    const program = await programs.open(database, design).catch(lasting);
    asked.push((writes) => ask(program, writes));
  }
  return new Validation(database, asked, clock);
}

async function ask(program: Program | DatabaseError, writes: readonly ValidatedWrite[]): Promise<Verdicts> {
  if (isDatabaseError(program)) return writes.map(() => program);
  try {
    return await program.validate(writes);
  } catch (error) {
    return ask(lasting(error), writes);
  }
}

function lasting(error: unknown): DatabaseError {
  if (isDatabaseError(error, 'compilation_error') || isDatabaseError(error, 'not_implemented')) return error;
  throw error;
}

class Validation implements Validators {
  readonly #database: Database;
  readonly #asked: readonly Ask[];
  readonly #clock: Clock;

  constructor(database: Database, asked: readonly Ask[], clock: Clock) {
    this.#database = database;
    this.#asked = asked;
    this.#clock = clock;
  }

  async judge(writes: readonly DocumentWrite[], options: WriteOptions): Promise<Verdicts> {
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

  async #judgeBatch(writes: readonly DocumentWrite[], options: WriteOptions): Promise<Verdicts> {
    const { name, security } = this.#database;
    const userContext = JSON.stringify({ db: name, ...(options.user ?? ADMIN) });
    const current = await this.#currentWrites(writes, options);
    const verdicts: Verdict[] = current.map(({ refusal }) => refusal);
    for (const validate of this.#asked) {
      const asked = [...current.entries()].filter(
        ([index, { newDocument }]) => newDocument !== undefined && verdicts[index] === undefined,
      );
      const texts = asked.map(([, { newDocument, oldDocument }]) => {
        return { newDocument: must(newDocument), oldDocument, userContext, securityObject: security };
      });
      const outcomes = await validate(texts);
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
