import type { Database, LocalDocument, RowRange, Snapshot } from '../../database/contract.ts';
import { isLocalId } from '../../documents/identifiers.ts';
import { writeDocument } from '../../documents/outgoing.ts';
import { toDocId } from '../request/parameter-values.ts';
import type { DocumentList, RowOptions } from './document-list.ts';
import { rowText, unknownRowText } from './row-text.ts';

/** `_local_docs`: the documents that are never replicated (docs/http.md#other-lists). */
export class LocalDocuments implements DocumentList {
  readonly #snapshot: Snapshot;
  readonly #database: Database;
  readonly #options: RowOptions;

  constructor(snapshot: Snapshot, database: Database, options: RowOptions) {
    this.#snapshot = snapshot;
    this.#database = database;
    this.#options = options;
  }

  total(): number | Promise<number> {
    return this.#snapshot.localCount();
  }

  /** Counts one by one: replicators leave a few of them, not thousands. */
  async offset(range: RowRange): Promise<number> {
    const { descending = false, start, end, startInclusive = true, endInclusive = true, skip = 0 } = range;
    const edge = descending ? end : start;
    let before = 0;
    if (edge !== undefined) {
      const outside: RowRange = descending
        ? { start: edge, startInclusive: !endInclusive }
        : { end: edge, endInclusive: !startInclusive };
      for await (const batch of this.#snapshot.locals(outside)) before += batch.length;
    }
    return Math.min(before + skip, await this.total());
  }

  async *rows(range: RowRange, limit: number): AsyncGenerator<readonly string[], void, void> {
    let left = limit;
    if (left === 0) return;
    for await (const batch of this.#snapshot.locals(range)) {
      const locals = batch.slice(0, left);
      yield locals.map((local) => this.#rowOf(local));
      left -= locals.length;
      if (left === 0) return;
    }
  }

  async keyed(keys: readonly unknown[]): Promise<readonly string[]> {
    const rows: string[] = [];
    for (const key of keys) {
      const id = toDocId(key);
      const local = id !== undefined && isLocalId(id) ? await this.#database.readLocal(id) : undefined;
      rows.push(local === undefined ? unknownRowText(key) : this.#rowOf(local));
    }
    return rows;
  }

  #rowOf({ id, rev, body }: LocalDocument): string {
    const doc = this.#options.includeDocs ? writeDocument({ id, rev, deleted: false, body }) : undefined;
    return rowText(id, rev, doc);
  }
}
