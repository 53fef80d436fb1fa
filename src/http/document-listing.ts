import type { DocumentRecord, DocumentRow, RowRange, Snapshot, StoredNode } from '../database/contract.ts';
import { must } from '../shared/assert.ts';
import { byBodySize } from './body-batches.ts';
import { documentText, metaOf, revOf } from './document-view.ts';
import { deletedRowText, type Listing, type RowOptions, rowText, toDocId, unknownRowText } from './listings.ts';

const CONFLICTS = { revs: false, revsInfo: false, conflicts: true, deletedConflicts: false, localSeq: false };

/** `_all_docs`: the live documents, design documents among them, in the order of their ids' UTF-8 bytes. */
export class DocumentListing implements Listing {
  protected readonly snapshot: Snapshot;
  readonly #options: RowOptions;

  constructor(snapshot: Snapshot, options: RowOptions) {
    this.snapshot = snapshot;
    this.#options = options;
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
    const docs = this.#options.includeDocs ? await this.#documentsOf(records.filter(isLive)) : [];
    let nextDoc = 0;
    return records.map((record, index) => {
      if (record === undefined) return unknownRowText(keys[index]);
      const node = winnerOf(record);
      if (node.deleted) return deletedRowText(record.id, revOf(node), this.#options.includeDocs);
      return rowText(record.id, revOf(node), docs[nextDoc++]);
    });
  }

  async *#withDocuments(rows: readonly DocumentRow[]): AsyncGenerator<readonly string[], void, void> {
    for (const records of byBodySize(
      rows.map((row) => row.record()),
      winnerOf,
    )) {
      const docs = await this.#documentsOf(records);
      yield records.map((record, index) => rowText(record.id, revOf(winnerOf(record)), docs[index]));
    }
  }

  /** The winners' texts, `null` where a body is not kept. */
  async #documentsOf(records: readonly DocumentRecord[]): Promise<string[]> {
    const nodes = records.map(winnerOf);
    const bodies = await this.snapshot.bodies(nodes);
    return records.map((record, index) => {
      const body = bodies[index];
      if (body === undefined) return 'null';
      const node = must(nodes[index]);
      return documentText(record, node, body, this.#metaOf(record, node));
    });
  }

  #metaOf(record: DocumentRecord, node: StoredNode) {
    return this.#options.conflicts && record.leaves.length > 1 ? metaOf(record, node, CONFLICTS) : undefined;
  }
}

const DESIGN_START = '_design/';
/** The character after the slash: the first id behind all design documents. */
const DESIGN_END = '_design0';

/** `_design_docs`: the rows of `_all_docs` whose ids begin with `_design/`. */
export class DesignListing extends DocumentListing {
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

  override rows(range: RowRange, limit: number): AsyncGenerator<readonly string[], void, void> {
    return super.rows(clamp(range), limit);
  }

  override async keyed(keys: readonly unknown[]): Promise<readonly string[]> {
    const isDesign = (key: unknown) => typeof key === 'string' && key.startsWith(DESIGN_START);
    const found = await super.keyed(keys.filter(isDesign));
    let next = 0;
    return keys.map((key) => (isDesign(key) ? must(found[next++]) : unknownRowText(key)));
  }

  #before(id: string): Promise<number> {
    return this.snapshot.offset({ start: id });
  }
}

/** Ids of that kind are ASCII up to the slash, so comparing by code units is enough here. */
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

function winnerOf(record: DocumentRecord): StoredNode {
  return must(record.leaves[0], 'a document has a leaf');
}

function isLive(record: DocumentRecord | undefined): record is DocumentRecord {
  return record !== undefined && !winnerOf(record).deleted;
}
