/** One run of a query: reads what its plan says, and yields the documents that it finds in the order of the sort. */
import type { CompareKeys } from '../../../base/collation/key-order.ts';
import { allReady } from '../../../base/shared/maybe-promise.ts';
import { runCooperatively, TimeSlice } from '../../../base/shared/turn.ts';
import { isDesignId, toDocId } from '../../../database/documents/identifiers.ts';
import type { DocumentRecord, Snapshot } from '../../../database/store/contract.ts';
import type { ViewRange, ViewReader, ViewRow } from '../../views/contract.ts';
import { type BookmarkPosition, invalidBookmark, readBookmark } from '../bookmark.ts';
import type { StepBudget } from '../effort.ts';
import type { FindQuery } from '../find-query.ts';
import { type DocumentsPlan, type IndexPlan, sortIds } from '../planning/plan.ts';
import { planName } from '../planning/planner.ts';
import { EVERYTHING } from '../selectors/selector.ts';
import { createTextTest } from '../selectors/selector-check.ts';
import { DocumentReader, type FoundDocument, type UnreadDocument } from './document-reader.ts';
import { KeyProjection, KeyTests } from './index-keys.ts';
import { lookUp } from './lookups.ts';

/** Rows or documents that are read at once, if it is unknown how many of them match. */
const MAX_BATCH = 200;
const MIN_BATCH = 10;

interface SearchOptions {
  readonly query: FindQuery;
  readonly snapshot: Snapshot;
  readonly compare: CompareKeys;
  readonly budget: StepBudget;
}

export class Search {
  /** How many rows were read. */
  keysExamined = 0;
  readonly #options: SearchOptions;
  readonly #timeSlice = new TimeSlice();
  #reader: DocumentReader | undefined;
  /** How many documents were found, including skipped ones. */
  found = 0;
  /** How many rows or documents are read next. */
  #batchSize: number;

  constructor(options: SearchOptions) {
    const { skip, limit } = options.query;
    this.#options = options;
    this.#batchSize = Math.max(MIN_BATCH, Math.min(skip + limit, MAX_BATCH));
  }

  get documentsExamined(): number {
    return this.#reader?.examined ?? 0;
  }

  /** Searches an index. Applies the query's `skip` and `limit`. */
  async *inIndex(plan: IndexPlan, index: ViewReader): AsyncGenerator<FoundDocument, void, void> {
    if (plan.isEmpty || this.#options.query.limit === 0) return;
    const { query, compare, snapshot, budget } = this.#options;
    const keys = new KeyTests(query, plan.stored.index, compare, budget);
    // The keys decide only if index and documents are of the same moment: a later write may have changed a document.
    const { updateSeq } = snapshot;
    const areOneMoment = () => index.updateSeq === updateSeq && snapshot.updateSeq === updateSeq;
    const doKeysDecide = keys.isComplete && areOneMoment();
    // Then every row that passes is a found document.
    if (doKeysDecide) this.#batchSize = Math.min(query.skip + query.limit, MAX_BATCH);
    const projection = doKeysDecide ? KeyProjection.of(query, plan.stored.index) : undefined;
    const rows = this.#rows(plan, index, keys);
    if (projection !== undefined) {
      yield* this.#limited(fromKeys(rows, projection));
      return;
    }
    // Compared again later, because a reader or a snapshot that is too old continues with a later moment.
    this.#reader = this.#createReader(doKeysDecide ? areOneMoment : () => false);
    yield* this.#limited(this.#read(this.#reader, rows, (batch) => this.#documentsOf(batch)));
  }

  /** Searches the documents by id. Applies the query's `skip` and `limit`. */
  async *inDocuments(plan: DocumentsPlan): AsyncGenerator<FoundDocument, void, void> {
    if (plan.isEmpty || this.#options.query.limit === 0) return;
    const areAllMatching = this.#options.query.selector === EVERYTHING;
    this.#reader = this.#createReader(() => areAllMatching);
    const records = plan.ids === undefined ? this.#records(plan) : this.#listed(plan);
    const toDocuments = (batch: readonly DocumentRecord[]) => batch.map((record) => ({ keyText: 'null', record }));
    yield* this.#limited(this.#read(this.#reader, records, toDocuments));
  }

  #createReader(areAllMatching: () => boolean): DocumentReader {
    const { query, snapshot, compare, budget } = this.#options;
    return new DocumentReader({
      snapshot,
      query,
      test: createTextTest(query.selector, compare, { budget }),
      areAllMatching,
      timeSlice: this.#timeSlice,
    });
  }

  /** Rows of the plan's range whose keys pass the tests. */
  async *#rows(plan: IndexPlan, index: ViewReader, keys: KeyTests): AsyncGenerator<readonly ViewRow[], void, void> {
    const position = this.#startPosition(plan);
    const rest = position === undefined ? {} : { start: position.key, startDocId: position.id };
    for await (const read of await this.#readRows(plan, index, rest)) {
      for (const batch of this.#batches(read)) {
        const passed: ViewRow[] = [];
        for (const row of batch) {
          const passes = row.id !== position?.id && keys.passes(row.keyText);
          if (passes === true || (passes !== false && (await passes))) passed.push(row);
          if (this.#timeSlice.isDue) await this.#timeSlice.rest();
        }
        yield passed;
      }
    }
  }

  async #readRows(plan: IndexPlan, index: ViewReader, rest: ViewRange): Promise<AsyncIterable<readonly ViewRow[]>> {
    const { listed } = plan;
    if (listed !== undefined) return lookUp({ ...plan, listed }, index, this.#options.compare, rest);
    return (await index.rows(plan.stored.index.name, { ...plan.range, ...rest })).rows;
  }

  async *#records(plan: DocumentsPlan): AsyncGenerator<readonly DocumentRecord[], void, void> {
    const position = this.#startPosition(plan);
    const range = position === undefined ? plan.range : rangeAfter(plan, position);
    for await (const read of this.#options.snapshot.rows(range)) {
      for (const batch of this.#batches(read)) {
        const records = allReady(batch.filter(({ id }) => !isDesignId(id)).map((row) => row.record()));
        yield records instanceof Promise ? await records : records;
        if (this.#timeSlice.isDue) await this.#timeSlice.rest();
      }
    }
  }

  /** The documents that have these ids. */
  async *#listed(plan: DocumentsPlan): AsyncGenerator<readonly DocumentRecord[], void, void> {
    const { query, snapshot } = this.#options;
    const ids = await runCooperatively(sortIds(plan));
    const last = query.bookmark === undefined ? undefined : readBookmark(query.bookmark).id;
    const rest = ids.slice(last === undefined ? 0 : ids.indexOf(last) + 1).filter((id) => !isDesignId(id));
    for (const batch of this.#batches(rest)) {
      const records = await snapshot.documents(batch.flatMap((id) => toDocId(id) ?? []));
      yield records.filter((record) => record !== undefined);
    }
  }

  /** Cuts what was read into batches of the current size, which may change between two batches. */
  *#batches<T>(items: readonly T[]): Generator<readonly T[], void, void> {
    for (let from = 0; from < items.length; ) {
      const batch = items.slice(from, from + this.#batchSize);
      from += batch.length;
      this.keysExamined += batch.length;
      yield batch;
    }
  }

  /** Returns where the bookmark says that an earlier response ended; undefined without a bookmark, or if it only counts earlier documents. */
  #startPosition(plan: IndexPlan | DocumentsPlan): BookmarkPosition | undefined {
    const { bookmark } = this.#options.query;
    if (bookmark === undefined) return undefined;
    const position = readBookmark(bookmark);
    if (position.plan !== planName(plan)) throw invalidBookmark(bookmark);
    return position.found === undefined ? position : undefined;
  }

  /** Reads documents in batches that grow as long as the limit is not reached. */
  async *#read<T>(
    reader: DocumentReader,
    batches: AsyncGenerator<readonly T[], void, void>,
    toDocuments: (batch: readonly T[]) => readonly UnreadDocument[] | Promise<readonly UnreadDocument[]>,
  ): AsyncGenerator<FoundDocument, void, void> {
    for await (const batch of batches) {
      if (batch.length > 0) yield* reader.read(await toDocuments(batch));
      this.#batchSize = Math.min(this.#batchSize * 2, MAX_BATCH);
    }
  }

  async #documentsOf(rows: readonly ViewRow[]): Promise<readonly UnreadDocument[]> {
    const records = await this.#options.snapshot.documents(rows.map(({ id }) => id));
    const documents: UnreadDocument[] = [];
    for (const [index, record] of records.entries()) {
      const keyText = rows[index]?.keyText ?? 'null';
      if (record !== undefined) documents.push({ keyText, record });
    }
    return documents;
  }

  /** Skips as many as `skip` says, and ends after as many as `limit` says. */
  async *#limited(all: AsyncGenerator<FoundDocument, void, void>): AsyncGenerator<FoundDocument, void, void> {
    const { skip, limit, bookmark } = this.#options.query;
    const first = skip + (bookmark === undefined ? 0 : (readBookmark(bookmark).found ?? 0));
    for await (const document of all) {
      this.found++;
      if (this.found > first) yield document;
      if (this.found >= first + limit) return;
    }
  }
}

async function* fromKeys(
  batches: AsyncGenerator<readonly ViewRow[], void, void>,
  projection: KeyProjection,
): AsyncGenerator<FoundDocument, void, void> {
  for await (const rows of batches) {
    for (const { id, keyText, idText } of rows) yield { keyText, id, text: projection.write(keyText, idText) };
  }
}

function rangeAfter({ range, descending }: DocumentsPlan, { id }: BookmarkPosition): DocumentsPlan['range'] {
  return descending ? { ...range, end: id, endInclusive: false } : { ...range, start: id, startInclusive: false };
}
