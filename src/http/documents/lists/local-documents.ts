import { wholeCharacterPieces } from '../../../base/shared/utf8.ts';
import { isLocalId, toDocId } from '../../../database/documents/identifiers.ts';
import { writeDocument } from '../../../database/documents/outgoing.ts';
import type { Database, LocalDocument, RowRange, Snapshot } from '../../../database/store/contract.ts';
import type { Context } from '../../request/context.ts';
import type { SnapshotLease } from '../../request/snapshot-lease.ts';
import { LONG_BYTES } from '../../shown/shown-revision.ts';
import { byBytes } from './body-batches.ts';
import type { DocumentList, RowBatch, RowOptions } from './document-list.ts';
import { rowPieces, rowText, unknownRowText } from './list-text.ts';

/** UTF-16 units of one piece of a long text. */
const PIECE_UNITS = 131_072;

/** `_local_docs`: the documents that are never replicated (docs/http/bulk.md#other-lists). */
export class LocalDocuments implements DocumentList {
  readonly #snapshot: Snapshot;
  readonly #database: Database;
  readonly #options: RowOptions;
  readonly #context: Context;

  constructor({ snapshot, database }: SnapshotLease, options: RowOptions, context: Context) {
    this.#snapshot = snapshot;
    this.#database = database;
    this.#options = options;
    this.#context = context;
  }

  total(): number | Promise<number> {
    return this.#snapshot.localCount();
  }

  /** Counts one by one: replicators leave only a few of them. */
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

  async *rows(range: RowRange, limit: number): AsyncGenerator<RowBatch, void, void> {
    let left = limit;
    if (left === 0) return;
    for await (const batch of this.#snapshot.locals(range)) {
      const locals = batch.slice(0, left);
      for (const some of byBytes(locals, this.#bytesOf))
        yield this.#long(some) ?? some.map((local) => this.#rowOf(local));
      left -= locals.length;
      if (left === 0) return;
    }
  }

  async *keyed(keys: readonly unknown[]): AsyncGenerator<RowBatch, void, void> {
    for (const key of keys) {
      const id = toDocId(key);
      const local = id !== undefined && isLocalId(id) ? await this.#database.readLocal(id) : undefined;
      if (local === undefined) yield [unknownRowText(key)];
      else yield this.#long([local]) ?? [this.#rowOf(local)];
    }
  }

  readonly #bytesOf = ({ body }: LocalDocument): number => (this.#options.includeDocs ? body.length : 0);

  /** The row of a document that is in a batch of its own because it is long. */
  #long([local, ...others]: readonly LocalDocument[]): RowBatch | undefined {
    if (local === undefined || others.length > 0 || this.#bytesOf(local) <= LONG_BYTES) return undefined;
    return { pieces: rowPieces(JSON.stringify(local.id), JSON.stringify(local.rev), this.#pieces(local)) };
  }

  /** All of it is in memory already, and counts while it is sent. */
  async *#pieces({ id, rev, body }: LocalDocument): AsyncGenerator<string, void, void> {
    const release = await this.#context.holdForPart(body.length);
    try {
      yield `${writeDocument({ id, rev, deleted: false, body: '{}' }).slice(0, -1)},`;
      yield* wholeCharacterPieces(body, PIECE_UNITS, 1);
    } finally {
      release();
    }
  }

  #rowOf({ id, rev, body }: LocalDocument): string {
    const doc = this.#options.includeDocs ? writeDocument({ id, rev, deleted: false, body }) : undefined;
    return rowText(id, rev, doc);
  }
}
