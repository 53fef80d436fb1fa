import type { Shield } from '../../auth/shields/shield.ts';
import type { DocumentRecord, DocumentRow, RowRange, Snapshot, StoredNode } from '../../database/contract.ts';
import { writeQuoted } from '../../documents/outgoing.ts';
import { must } from '../../shared/assert.ts';
import { conflictsOf, revOf } from '../documents/document-rendering.ts';
import { type AttachmentFlags, shownBodies } from '../documents/inline-attachments.ts';
import { toDocId } from '../request/parameter-values.ts';
import { byBodySize } from './body-batches.ts';
import { contentFlags, type DocumentList, type RowOptions } from './document-list.ts';
import { deletedRowText, quotedRowText, rowText, unknownRowText } from './row-text.ts';

/** `_all_docs`: the live documents, design documents among them, in the order of their ids' UTF-8 bytes. */
export class AllDocuments implements DocumentList {
  protected readonly snapshot: Snapshot;
  readonly #options: RowOptions;
  readonly #flags: AttachmentFlags | undefined;
  readonly #shield: Shield | undefined;

  /** `shield`: what is seen of the documents; undefined for all. */
  constructor(snapshot: Snapshot, options: RowOptions, shield?: Shield) {
    this.snapshot = snapshot;
    this.#shield = shield;
    this.#options = options;
    this.#flags = contentFlags(options);
  }

  total(): number | Promise<number> {
    return this.snapshot.docCount;
  }

  offset(range: RowRange): Promise<number> {
    return this.snapshot.offset(range);
  }

  async *rows(range: RowRange, limit: number): AsyncGenerator<readonly string[], void, void> {
    let left = limit;
    if (left === 0) return;
    for await (const batch of this.snapshot.rows(range)) {
      const rows = batch.length > left ? batch.slice(0, left) : batch;
      if (this.#options.includeDocs) yield* this.#withDocuments(rows);
      else yield rows.map((row) => rowText(row.id, row.rev, undefined));
      left -= rows.length;
      if (left === 0) return;
    }
  }

  async keyed(keys: readonly unknown[]): Promise<readonly string[]> {
    const ids = keys.map(toDocId);
    const known = ids.filter((id) => id !== undefined);
    const found = await this.snapshot.documents(known);
    let next = 0;
    const records = ids.map((id) => (id === undefined ? undefined : found[next++]));
    const live = records.filter(isLive);
    const rows = this.#options.includeDocs ? await this.#documentRows(live) : live.map(plainRow);
    let nextRow = 0;
    return records.map((record, index) => {
      if (record === undefined) return unknownRowText(keys[index]);
      const node = winnerOf(record);
      if (node.deleted) return deletedRowText(record.id, revOf(node), this.#options.includeDocs);
      return must(rows[nextRow++]);
    });
  }

  async *#withDocuments(rows: readonly DocumentRow[]): AsyncGenerator<readonly string[], void, void> {
    for (const records of byBodySize(
      rows.map((row) => row.record()),
      winnerOf,
      this.#flags !== undefined,
    )) {
      yield await this.#documentRows(records);
    }
  }

  /** With the winners' texts, `null` where a body is not kept. */
  async #documentRows(records: readonly DocumentRecord[]): Promise<string[]> {
    const bodies = await shownBodies(this.snapshot, records.map(winnerOf), this.#flags);
    return records.map((record, index) => this.#documentRow(record, bodies[index]));
  }

  #documentRow(record: DocumentRecord, text: string | undefined): string {
    const node = winnerOf(record);
    const shield = this.#shield;
    const body = text === undefined || shield === undefined ? text : shield.show(record.id, text);
    const id = JSON.stringify(record.id);
    const rev = JSON.stringify(revOf(node));
    if (body === undefined) return quotedRowText(id, rev, 'null');
    const members = this.#options.conflicts ? conflictsOf(record) : undefined;
    return quotedRowText(id, rev, writeQuoted(id, rev, { deleted: node.deleted, body, members }));
  }
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
