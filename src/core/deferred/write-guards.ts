/** Checks the writes of `_replicator`: first with code loaded with the first of them, then as those of other databases. */

import type { DatabaseError } from '../../base/errors/database-error.ts';
import type { Database, DocumentWrite, WriteGuard, WriteOptions } from '../../database/store/contract.ts';
import type { DeferredCode } from './contract.ts';
import type { Deferred } from './deferred.ts';

type Refusal = DatabaseError | undefined;

export class ReplicatorGuard implements WriteGuard {
  readonly isNeeded = true;
  readonly #database: Database;
  readonly #code: Deferred<DeferredCode>;
  readonly #others: WriteGuard;

  /** `others`: checks the writes that this guard accepts. */
  constructor(database: Database, code: Deferred<DeferredCode>, others: WriteGuard) {
    this.#database = database;
    this.#code = code;
    this.#others = others;
  }

  async prepare(writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly DocumentWrite[]> {
    const { replicationDocumentGuard } = await this.#code.get();
    return replicationDocumentGuard.prepare(writes, options);
  }

  async validate(writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly Refusal[]> {
    const { replicationDocumentGuard } = await this.#code.get();
    const refusals = await replicationDocumentGuard.validate(this.#database, writes, options);
    if (!this.#others.isNeeded) return refusals;
    const passed = writes.filter((_write, index) => refusals[index] === undefined);
    const further = passed.length === 0 ? [] : await this.#others.validate(passed, options);
    let next = 0;
    return refusals.map((refusal) => refusal ?? further[next++]);
  }

  designsChanged(): void {
    this.#others.designsChanged();
  }
}
