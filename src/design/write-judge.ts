/**
 * `validate_doc_update` (completion 14): every design document's function is asked about every write of an ordinary
 * document, before the writer gets it. Which functions there are is found out once, and again when a design document
 * changed; while there are none a write costs nothing more.
 */
import type { Database, DocumentWrite, WriteGuard, WriteOptions } from '../database/contract.ts';
import { isDesignId } from '../documents/identifiers.ts';
import type { DatabaseError } from '../errors/database-error.ts';
import type { Program } from '../query-server/contract.ts';
import { must } from '../shared/assert.ts';
import type { Clock } from '../shared/clock.ts';
import { nextTurn } from '../shared/turn.ts';
import type { DesignPrograms, StoredDesign } from './design-programs.ts';
import { type CurrentWrite, currentWrites } from './judged-writes.ts';

export interface WriteJudgeParts {
  readonly programs: DesignPrograms;
  readonly clock: Clock;
}

/** Writes whose bodies are read, and judged, at once. */
const BATCH = 50;
/** Milliseconds after which others have a turn. */
const TURN_MS = 10;

const ADMIN = { name: null, roles: ['_admin'] };

type Verdict = DatabaseError | undefined;

/** The judge of one open database. */
export class WriteJudge implements WriteGuard {
  readonly #database: Database;
  readonly #parts: WriteJudgeParts;
  /** Undefined while it is not known who has a say. */
  #validators: readonly Program[] | undefined;
  #loading: Promise<readonly Program[]> | undefined;

  constructor(database: Database, parts: WriteJudgeParts) {
    this.#database = database;
    this.#parts = parts;
  }

  get isNeeded(): boolean {
    return this.#validators === undefined || this.#validators.length > 0;
  }

  designsChanged(): void {
    this.#validators = undefined;
    this.#loading = undefined;
  }

  async judge(writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly Verdict[]> {
    const verdicts: Verdict[] = writes.map(() => undefined);
    if (writes.every(({ id }) => isDesignId(id))) return verdicts;
    const validators = this.#validators ?? (await this.#load());
    if (validators.length === 0) return verdicts;
    const { clock } = this.#parts;
    let turnEnd = clock.monotonic() + TURN_MS;
    for (let start = 0; start < writes.length; start += BATCH) {
      if (clock.monotonic() > turnEnd) {
        await nextTurn();
        turnEnd = clock.monotonic() + TURN_MS;
      }
      const batch = await this.#judgeBatch(validators, writes.slice(start, start + BATCH), options);
      for (const [index, verdict] of batch.entries()) verdicts[start + index] = verdict;
    }
    return verdicts;
  }

  async #judgeBatch(
    validators: readonly Program[],
    writes: readonly DocumentWrite[],
    options: WriteOptions,
  ): Promise<readonly Verdict[]> {
    const { name, security } = this.#database;
    const userContext = JSON.stringify({ db: name, ...(options.user ?? ADMIN) });
    const current = await this.#currentWrites(writes, options);
    const verdicts: Verdict[] = current.map(({ refusal }) => refusal);
    for (const validator of validators) {
      const asked = [...current.entries()].filter(
        ([index, { newDocument }]) => newDocument !== undefined && verdicts[index] === undefined,
      );
      const texts = asked.map(([, { newDocument, oldDocument }]) => {
        return { newDocument: must(newDocument), oldDocument, userContext, securityObject: security };
      });
      const outcomes = await validator.validate(texts);
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

  #load(): Promise<readonly Program[]> {
    if (this.#loading !== undefined) return this.#loading;
    const loading: Promise<readonly Program[]> = this.#findValidators().then(
      (validators) => {
        // What changed meanwhile is asked for again by whoever comes after it.
        if (this.#loading === loading) this.#validators = validators;
        return validators;
      },
      (error: unknown) => {
        if (this.#loading === loading) this.#loading = undefined;
        throw error;
      },
    );
    this.#loading = loading;
    return loading;
  }

  async #findValidators(): Promise<readonly Program[]> {
    const designs = (await readDesigns(this.#database)).filter(hasValidator);
    const programs: Program[] = [];
    for (const design of designs) programs.push(await this.#parts.programs.open(this.#database, design));
    return programs;
  }
}

async function readDesigns(database: Database): Promise<StoredDesign[]> {
  const snapshot = database.snapshot();
  try {
    const designs: StoredDesign[] = [];
    for await (const rows of snapshot.rows({ start: '_design/', end: '_design0', endInclusive: false })) {
      const bodies = await snapshot.bodies(rows.map((row) => must(row.record().leaves[0])));
      for (const [index, { id, rev }] of rows.entries()) designs.push({ id, rev, body: bodies[index] ?? '{}' });
    }
    return designs;
  } finally {
    snapshot.release();
  }
}

function hasValidator({ body }: StoredDesign): boolean {
  if (!body.includes('"validate_doc_update"')) return false;
  const members: { readonly validate_doc_update?: unknown } = Object(JSON.parse(body));
  return members.validate_doc_update !== undefined && members.validate_doc_update !== null;
}
