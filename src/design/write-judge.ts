/**
 * `validate_doc_update` (completion 14): every design document's function is asked about every write of an ordinary
 * document, before the writer gets it. Which functions there are is found out once, and again when a design document
 * changed; while there are none a write costs nothing more.
 */
import type { Database, DocumentWrite, WriteGuard, WriteOptions } from '../database/contract.ts';
import { DESIGN_RANGE, isDesignId } from '../documents/identifiers.ts';
import type { DatabaseError } from '../errors/database-error.ts';
import { must } from '../shared/assert.ts';
import type { StoredDesign } from './design-programs.ts';

/** Asks the validators of one moment of a database. */
export interface Validators {
  /** For each write why it is refused, or undefined. */
  judge(writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly Verdict[]>;
}

/** Opens the functions of design documents that have a validator, in their order. */
export type OpenValidators = (database: Database, designs: readonly StoredDesign[]) => Promise<Validators>;

type Verdict = DatabaseError | undefined;

/** The judge of one open database. */
export class WriteJudge implements WriteGuard {
  readonly #database: Database;
  readonly #open: OpenValidators;
  readonly #onDesigns: () => void;
  /** Undefined while it is not known who has a say, null where nobody has. */
  #validators: Validators | null | undefined;
  #loading: Promise<Validators | null> | undefined;

  /** `onDesigns` is told that there are design documents, or that one may have come. */
  constructor(database: Database, open: OpenValidators, onDesigns: () => void) {
    this.#database = database;
    this.#open = open;
    this.#onDesigns = onDesigns;
  }

  get isNeeded(): boolean {
    return this.#validators !== null;
  }

  designsChanged(): void {
    this.#validators = undefined;
    this.#loading = undefined;
    this.#onDesigns();
  }

  async judge(writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly Verdict[]> {
    if (writes.every(({ id }) => isDesignId(id))) return unopposed(writes);
    const validators = this.#validators === undefined ? await this.#load() : this.#validators;
    return validators === null ? unopposed(writes) : validators.judge(writes, options);
  }

  #load(): Promise<Validators | null> {
    if (this.#loading !== undefined) return this.#loading;
    const loading: Promise<Validators | null> = this.#findValidators().then(
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

  async #findValidators(): Promise<Validators | null> {
    const designs = await readDesigns(this.#database);
    if (designs.length > 0) this.#onDesigns();
    const judging = designs.filter(hasValidator);
    return judging.length === 0 ? null : this.#open(this.#database, judging);
  }
}

function unopposed(writes: readonly DocumentWrite[]): readonly Verdict[] {
  return writes.map(() => undefined);
}

async function readDesigns(database: Database): Promise<StoredDesign[]> {
  const snapshot = database.snapshot();
  try {
    const designs: StoredDesign[] = [];
    for await (const rows of snapshot.rows(DESIGN_RANGE)) {
      const bodies = await snapshot.bodies(rows.map((row) => must(row.record().leaves[0])));
      for (const [index, { id, rev }] of rows.entries()) designs.push({ id, rev, body: bodies[index] ?? '{}' });
    }
    return designs;
  } finally {
    snapshot.release();
  }
}

function hasValidator({ body }: StoredDesign): boolean {
  // Any of its letters may stand escaped.
  if (!/"validate_doc_update"|\\u/.test(body)) return false;
  const members: { readonly validate_doc_update?: unknown } = Object(JSON.parse(body));
  return members.validate_doc_update !== undefined && members.validate_doc_update !== null;
}
