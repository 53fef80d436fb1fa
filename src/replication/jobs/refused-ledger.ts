import type { RefusedDocument } from '../contract.ts';

/** The documents that a replication could not copy (docs/http/replication.md#refused-documents): the first of them by name, and the number of all. */
export class RefusedLedger {
  readonly #most: number;
  readonly #documents = new Map<string, RefusedDocument>();
  #notNamed = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** A revision that was named before is not counted again. */
  add(document: RefusedDocument): void {
    const key = JSON.stringify([document.id, document.rev]);
    if (this.#documents.has(key) || this.#documents.size < this.#most) this.#documents.set(key, document);
    else this.#notNamed++;
  }

  /** They were retried, all of them if `ids` is undefined; `again` holds what was refused again. */
  settle(ids: readonly string[] | undefined, again: RefusedLedger): void {
    const tried = new Set(ids);
    for (const [key, { id }] of this.#documents) if (ids === undefined || tried.has(id)) this.#documents.delete(key);
    this.#notNamed = again.#notNamed + (ids === undefined ? 0 : this.#notNamed);
    for (const document of again.list()) this.add(document);
  }

  /** In the order in which they were refused. */
  list(): readonly RefusedDocument[] {
    return [...this.#documents.values()];
  }

  get count(): number {
    return this.#documents.size + this.#notNamed;
  }

  /** Whether all refused documents are named here. */
  get isComplete(): boolean {
    return this.#notNamed === 0;
  }
}
