import type { ReadRestriction } from '../../../accounts/access/read-restriction.ts';
import { must } from '../../../base/shared/assert.ts';
import { allReady } from '../../../base/shared/maybe-promise.ts';
import type { DocId } from '../../../database/documents/contract.ts';
import { toDocId } from '../../../database/documents/identifiers.ts';
import { writeQuoted } from '../../../database/documents/outgoing.ts';
import type { DocumentRecord, RowRange, Snapshot, StoredNode } from '../../../database/store/contract.ts';
import { CONFLICTS_ALONE, metaOf, revOf } from '../../shown/document-rendering.ts';
import { attachedBody, isLong, type ShownRevision, shownBytes, shownPieces } from '../../shown/shown-revision.ts';
import { byBytes } from './body-batches.ts';
import {
  contentFlags,
  type DocumentList,
  MAX_ATTACHED_BYTES,
  type RowBatch,
  type RowOptions,
} from './document-list.ts';
import { deletedRowText, quotedRowText, rowPieces, rowText, unknownRowText } from './list-text.ts';

/** `_all_docs`: the live documents, including design documents, in the order of their ids' UTF-8 bytes. */
export class AllDocuments implements DocumentList {
  protected readonly snapshot: Snapshot;
  readonly #options: RowOptions;
  /** How documents are shown. */
  readonly #show: Pick<ShownRevision, 'meta' | 'attachments'>;
  readonly #restriction: ReadRestriction | undefined;

  /** `restriction`: restricts what is visible of the documents; undefined for no restriction. */
  constructor(snapshot: Snapshot, options: RowOptions, restriction?: ReadRestriction) {
    this.snapshot = snapshot;
    this.#restriction = restriction;
    this.#options = options;
    this.#show = { meta: options.conflicts ? CONFLICTS_ALONE : undefined, attachments: contentFlags(options) };
  }

  total(): number | Promise<number> {
    return this.snapshot.docCount;
  }

  offset(range: RowRange): Promise<number> {
    return this.snapshot.offset(range);
  }

  async *rows(range: RowRange, limit: number): AsyncGenerator<RowBatch, void, void> {
    let left = limit;
    if (left === 0) return;
    for await (const batch of this.snapshot.rows(range)) {
      const rows = batch.length > left ? batch.slice(0, left) : batch;
      if (this.#options.includeDocs) yield* this.#withDocuments(await allReady(rows.map((row) => row.record())));
      else yield rows.map((row) => rowText(row.id, row.rev, undefined));
      left -= rows.length;
      if (left === 0) return;
    }
  }

  async *keyed(keys: readonly unknown[]): AsyncGenerator<RowBatch, void, void> {
    let from = 0;
    for await (const records of this.snapshot.documentBatches(this.#idsOf(keys))) {
      const found = records.map((record, index) => ({ key: keys[from + index], record }));
      from += records.length;
      if (this.#options.includeDocs) yield* this.#keyedWithDocuments(found);
      else
        yield found.map(({ key, record }) =>
          isLive(record) ? plainRow(record) : this.#rowWithoutDocument(key, record),
        );
    }
  }

  *#idsOf(keys: readonly unknown[]): Iterable<DocId | undefined> {
    for (const key of keys) yield this.idOf(key);
  }

  /** Returns undefined for a key that can't be in this list. */
  protected idOf(key: unknown): DocId | undefined {
    return toDocId(key);
  }

  async *#withDocuments(records: readonly DocumentRecord[]): AsyncGenerator<RowBatch, void, void> {
    for (const some of byBytes(records, (record) => this.#bytesOf(record)))
      yield this.#long(some) ?? (await this.#rows(some));
  }

  async *#keyedWithDocuments(found: readonly Found[]): AsyncGenerator<RowBatch, void, void> {
    for (const some of byBytes(found, ({ record }) => (isLive(record) ? this.#bytesOf(record) : 0))) {
      const live = some.map(({ record }) => record).filter(isLive);
      const long = some.length === 1 ? this.#long(live) : undefined;
      if (long !== undefined) {
        yield long;
        continue;
      }
      const rows = await this.#rows(live);
      let next = 0;
      yield some.map(({ key, record }) =>
        isLive(record) ? must(rows[next++]) : this.#rowWithoutDocument(key, record),
      );
    }
  }

  #rowWithoutDocument(key: unknown, record: DocumentRecord | undefined): string {
    if (record === undefined) return unknownRowText(key);
    return deletedRowText(record.id, revOf(winnerOf(record)), this.#options.includeDocs);
  }

  #shown(record: DocumentRecord): ShownRevision {
    return { record, node: winnerOf(record), ...this.#show };
  }

  /** What a restriction leaves visible of a document is known only after reading it; no large documents are behind restrictions. */
  #bytesOf(record: DocumentRecord): number {
    return shownBytes(this.#shown(record));
  }

  /** The row of a document that is in a batch of its own because it is long. */
  #long([record, ...others]: readonly DocumentRecord[]): RowBatch | undefined {
    if (record === undefined || others.length > 0 || this.#restriction !== undefined) return undefined;
    const shown = this.#shown(record);
    if (!isLong(shown)) return undefined;
    const rev = JSON.stringify(revOf(shown.node));
    const pieces = shownPieces(this.snapshot, shown, MAX_ATTACHED_BYTES);
    return { pieces: rowPieces(JSON.stringify(record.id), rev, pieces) };
  }

  /** Returns rows with the winners' texts, `null` if a body is not kept. */
  async #rows(records: readonly DocumentRecord[]): Promise<string[]> {
    const bodies = await this.#bodies(records);
    return records.map((record, index) => this.#documentRow(record, bodies[index]));
  }

  async #bodies(records: readonly DocumentRecord[]): Promise<readonly (string | undefined)[]> {
    if (this.#show.attachments === undefined) return this.snapshot.bodies(records.map(winnerOf));
    const bodies: (string | undefined)[] = [];
    for (const record of records) {
      bodies.push(await attachedBody(this.snapshot, this.#shown(record), MAX_ATTACHED_BYTES));
    }
    return bodies;
  }

  #documentRow(record: DocumentRecord, text: string | undefined): string {
    const node = winnerOf(record);
    const restriction = this.#restriction;
    const body = text === undefined || restriction === undefined ? text : restriction.show(record.id, text);
    const id = JSON.stringify(record.id);
    const rev = JSON.stringify(revOf(node));
    if (body === undefined) return quotedRowText(id, rev, 'null');
    const members = this.#show.meta === undefined ? undefined : metaOf(record, node, this.#show.meta);
    return quotedRowText(id, rev, writeQuoted(id, rev, { deleted: node.deleted, body, members }));
  }
}

interface Found {
  readonly key: unknown;
  readonly record: DocumentRecord | undefined;
}

function plainRow(record: DocumentRecord): string {
  return rowText(record.id, revOf(winnerOf(record)), undefined);
}

function winnerOf(record: DocumentRecord): StoredNode {
  return must(record.leaves[0], 'a document has a leaf');
}

function isLive(record: DocumentRecord | undefined): record is DocumentRecord {
  return record !== undefined && !winnerOf(record).deleted;
}

const DESIGN_START = '_design/';
/** The character after the slash: the first id after all design documents. */
const DESIGN_END = '_design0';

/** `_design_docs`: the rows of `_all_docs` whose ids begin with `_design/`. */
export class DesignDocuments extends AllDocuments {
  override async total(): Promise<number> {
    return (await this.#before(DESIGN_END)) - (await this.#before(DESIGN_START));
  }

  override async offset(range: RowRange): Promise<number> {
    const { snapshot } = this;
    const offset = await snapshot.offset(clamp(range));
    const others =
      range.descending === true
        ? snapshot.docCount - (await this.#before(DESIGN_END))
        : await this.#before(DESIGN_START);
    return Math.min(offset - others, await this.total());
  }

  override rows(range: RowRange, limit: number): AsyncGenerator<RowBatch, void, void> {
    return super.rows(clamp(range), limit);
  }

  protected override idOf(key: unknown): DocId | undefined {
    return typeof key === 'string' && key.startsWith(DESIGN_START) ? super.idOf(key) : undefined;
  }

  #before(id: string): Promise<number> {
    return this.snapshot.offset({ start: id });
  }
}

/** Such ids are ASCII up to the slash, so comparing code units is enough. */
function clamp(range: RowRange): RowRange {
  const { start, end } = range;
  const opensLower = start === undefined || start < DESIGN_START;
  const opensUpper = end === undefined || end >= DESIGN_END;
  return {
    ...range,
    start: opensLower ? DESIGN_START : start,
    startInclusive: opensLower ? true : range.startInclusive,
    end: opensUpper ? DESIGN_END : end,
    endInclusive: opensUpper ? false : range.endInclusive,
  };
}
