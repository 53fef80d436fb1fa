/**
 * Validates writes with `validate_doc_update` (docs/http/functions.md#validation-functions): the function of every design document is called for every
 * write of an ordinary document, before the writer gets it. The functions are looked up once, and again after a design
 * document changes. If there are none, a write costs nothing more.
 */

import type { DatabaseError } from '../../base/errors/database-error.ts';
import { parseInTurns } from '../../base/json/parse-in-steps.ts';
import { must } from '../../base/shared/assert.ts';
import { startBackgroundTimer } from '../../base/shared/clock.ts';
import { allReady } from '../../base/shared/maybe-promise.ts';
import { runCooperatively, someInSteps } from '../../base/shared/turn.ts';
import { DESIGN_RANGE, isDesignId } from '../../database/documents/identifiers.ts';
import type { Database, DocumentWrite, WriteGuard, WriteOptions } from '../../database/store/contract.ts';
import type { DesignDocument } from '../views/contract.ts';

/** The validation functions that a database has at one moment. */
export interface Validators {
  /** Returns for each write why it is refused, or undefined. */
  validate(writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly Refusal[]>;
}

/** Opens the rules of these design documents, in their order. Returns null if none of them has one that this host asks. */
export type OpenValidators = (database: Database, designs: readonly DesignDocument[]) => Promise<Validators | null>;

type Refusal = DatabaseError | undefined;

const NO_REFUSALS: readonly Refusal[] = [];
/** How long after it is opened a database is searched for design documents, if no one has written to it by then. */
const REST_MS = 1_000;

interface WriteListeners {
  /** Called if there are design documents, also a while after the opening, and if one may have been written. */
  onDesigns(): void;
  /** Called when a design document with functions is about to be written, and before those that judge writes are opened. */
  expectFunctions(): void;
}

/** Validates the writes of one open database. */
export class WriteValidation implements WriteGuard {
  readonly #database: Database;
  readonly #open: OpenValidators;
  readonly #listeners: WriteListeners;
  /** Undefined before the functions are looked up; null if there are none. */
  #validators: Validators | null | undefined;
  #loading: Promise<Validators | null> | undefined;

  constructor(database: Database, open: OpenValidators, listeners: WriteListeners) {
    this.#database = database;
    this.#open = open;
    this.#listeners = listeners;
    startBackgroundTimer(REST_MS, () => void this.#tellOfDesigns());
  }

  /** Prepares indexes and engine, also for clients that only read. */
  async #tellOfDesigns(): Promise<void> {
    if (this.#validators !== undefined || this.#loading !== undefined) return;
    try {
      if (await hasDesigns(this.#database)) this.#listeners.onDesigns();
    } catch {
      // The database was closed meanwhile, or can't be read. The next request to it fails with the reason.
    }
  }

  get isNeeded(): boolean {
    return this.#validators !== null;
  }

  designsChanged(): void {
    this.#validators = undefined;
    this.#loading = undefined;
    this.#listeners.onDesigns();
  }

  async validate(writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly Refusal[]> {
    if (await runCooperatively(someInSteps(writes, hasFunctions))) this.#listeners.expectFunctions();
    if (!(await runCooperatively(someInSteps(writes, ({ id }) => !isDesignId(id))))) return NO_REFUSALS;
    const validators = this.#validators === undefined ? await this.#load() : this.#validators;
    return validators === null ? NO_REFUSALS : validators.validate(writes, options);
  }

  #load(): Promise<Validators | null> {
    if (this.#loading !== undefined) return this.#loading;
    const loading: Promise<Validators | null> = this.#findValidators().then(
      (validators) => {
        // If a design document changed meanwhile, the next write searches again.
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

  async #findValidators(): Promise<Validators | null> {
    const designs = await readDesigns(this.#database);
    if (designs.length > 0) this.#listeners.onDesigns();
    const validating: DesignDocument[] = [];
    for (const design of designs) if (await hasValidator(design)) validating.push(design);
    if (validating.length === 0) return null;
    this.#listeners.expectFunctions();
    return this.#open(this.#database, validating);
  }
}

/** Design documents of `_index` have none. One that is written in another form counts as one with functions, which does no harm. */
function hasFunctions({ id, deleted, body }: DocumentWrite): boolean {
  return isDesignId(id) && !deleted && !body.includes('"language":"query"');
}

async function hasDesigns(database: Database): Promise<boolean> {
  const snapshot = database.snapshot();
  try {
    for await (const rows of snapshot.rows(DESIGN_RANGE)) if (rows.length > 0) return true;
    return false;
  } finally {
    snapshot.release();
  }
}

async function readDesigns(database: Database): Promise<DesignDocument[]> {
  const snapshot = database.snapshot();
  try {
    const designs: DesignDocument[] = [];
    for await (const rows of snapshot.rows(DESIGN_RANGE)) {
      const records = await allReady(rows.map((row) => row.record()));
      const bodies = await snapshot.bodies(records.map(({ leaves }) => must(leaves[0])));
      for (const [index, { id, rev }] of rows.entries()) designs.push({ id, rev, body: bodies[index] ?? '{}' });
    }
    return designs;
  } finally {
    snapshot.release();
  }
}

async function hasValidator({ body }: DesignDocument): Promise<boolean> {
  // Avoids parsing if the name does not occur. Any of its letters may be escaped.
  if (!/"validate_doc_update"|\\u/.test(body)) return false;
  const members: { readonly validate_doc_update?: unknown } = Object(await parseInTurns(body));
  return members.validate_doc_update !== undefined && members.validate_doc_update !== null;
}
