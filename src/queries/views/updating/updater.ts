import { must } from '../../../base/shared/assert.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import { runCooperatively, TimeSlice } from '../../../base/shared/turn.ts';
import type { DocId } from '../../../database/documents/contract.ts';
import type { Database, DocumentRecord, Snapshot } from '../../../database/store/contract.ts';
import type { ReplacedNode, TreeChange } from '../../../storage/btree/contract.ts';
import type { Tree } from '../../../storage/btree/tree.ts';
import type { MappedRows, Mapper, RowsChange } from '../contract.ts';
import type { ViewSettings } from '../settings.ts';
import type { GroupDefinition } from '../trees/definition.ts';
import {
  type DocumentTree,
  decodeEmitted,
  type FirstPass,
  type IndexState,
  isLeftOut,
  makeReductions,
  type ViewTree,
} from '../trees/index-state.ts';
import type { RowTree } from '../trees/row-tree.ts';
import type { TreeOrder } from '../trees/tree-order.ts';
import { bodyBytes, cutByBytes, isMapped, longInput, type MapInput, readBodies, readChanged } from './map-input.ts';
import { changesOf, type DocumentRows, type FormerKeys, PendingRows } from './pending-rows.ts';
import type { RowWatches } from './row-watches.ts';

/**
 * Yields documents that have rows in an index but do not exist in the database, in batches. This finds documents that were purged with
 * all their revisions, which the database's changes do not name any more. It takes time in proportion to the documents
 * of the index but maps none, so an index need not be rebuilt after purges.
 */
async function* purgedDocuments(byDocument: DocumentTree, snapshot: Snapshot): AsyncGenerator<DocId[]> {
  for await (const entries of byDocument.entries()) {
    const ids = entries.map(({ key }) => key as DocId);
    const records = await snapshot.documents(ids);
    const purged = ids.filter((_id, index) => records[index]?.leaves[0]?.deleted !== false);
    if (purged.length > 0) yield purged;
  }
}

const DEFAULT_BATCH = 100;
/** Documents that are mapped at once have about this many bytes, except for a single one that is larger. */
const BATCH_BYTES = 1024 * 1024;
/** Documents that are mapped at a time, in several threads, have this many bytes, except for a single one that is larger. */
const BYTES_UNDER_WAY = 16 * BATCH_BYTES;
/** The least part of `stepRows` in one step: rows that are far apart in the tree take that much longer. */
const MIN_STEP = 1 / 10;

/** How far the index has come when the pending rows are written. */
type Reached = Partial<Pick<IndexState, 'updateSeq' | 'purgeSeq' | 'firstPass'>>;

interface Progress {
  readonly done: number;
  readonly total: number;
}

interface UpdateOptions {
  readonly database: Database;
  readonly definition: GroupDefinition;
  /** The only documents that are mapped; undefined: all. */
  readonly docIds?: readonly DocId[] | undefined;
  readonly orders: readonly TreeOrder[];
  readonly mapper: Mapper;
  readonly settings: ViewSettings;
  /** The state of the index when the update begins. */
  readonly state: IndexState;
  /** Makes a later state the present one of the index. `replaced`: nodes that it does not have any more. */
  publish(state: IndexState, replaced: readonly ReplacedNode[]): Promise<void>;
  /** Returns whether a state should be published now, however few rows are pending. */
  isCheckpointDue(): boolean;
  /** Called with how many documents, or sequence numbers, are done and how many there are. */
  onProgress(done: number, total: number): void;
  /** Throws if the work is to end. */
  check(): void;
  /** Receives the changes of watched rows. */
  readonly watches: RowWatches;
  /** Keeps the pages of the last published state, also while later ones are stored. */
  retain(): { release(): void };
}

/**
 * Brings an index up to date. A new index is built in a first pass over all documents in the order of their ids, which is also
 * that of their bodies and of by-document. Afterwards the database's changes are read from the sequence that the index
 * has reached. Pending rows are sorted and written into the trees when there are enough of them, so memory does not grow
 * with the number of documents. Each published state is complete up to what it has reached, so an update that ended early
 * is continued by the next one.
 */
export class Updater {
  readonly #options: UpdateOptions;
  readonly #pending: PendingRows;
  readonly #timeSlice: TimeSlice;
  /** Batches that are being mapped, in their order. Their results are not pending yet. */
  readonly #underWay: {
    readonly input: MapInput;
    readonly bytes: number;
    readonly results: Promise<readonly MappedRows[]>;
  }[] = [];
  #bytesUnderWay = 0;
  #state: IndexState;
  /** In the first pass, in which no document has rows in the index yet: the sequence that it will have reached. */
  #firstPassSeq: number | undefined;

  constructor(options: UpdateOptions) {
    this.#options = options;
    this.#state = options.state;
    this.#pending = new PendingRows(options.definition, options.orders);
    this.#timeSlice = new TimeSlice(options.settings.turnMs);
  }

  async run(): Promise<void> {
    const snapshot = this.#options.database.snapshot();
    try {
      const { docIds } = this.#options;
      if (docIds !== undefined) return await this.#mapOnly(snapshot, docIds);
      const { firstPass, updateSeq, byDocument } = this.#state;
      if (firstPass !== undefined) await this.#mapAll(snapshot, firstPass);
      else if (updateSeq === 0 && byDocument.isEmpty) await this.#beginFirstPass(snapshot);
      if (snapshot.purgeSeq !== this.#state.purgeSeq) await this.#removePurged(snapshot);
      await this.#readChanges(snapshot);
      await this.#reduce();
    } finally {
      snapshot.release();
    }
  }

  /** Maps these documents, however many there are beside them. Those that do not exist have no rows. */
  async #mapOnly(snapshot: Snapshot, ids: readonly DocId[]): Promise<void> {
    const { updateSeq, purgeSeq } = snapshot;
    for (let done = 0; done < ids.length; ) {
      const batch = ids.slice(done, done + this.#batchSize);
      await this.#mapChanged(snapshot, batch);
      done += batch.length;
      await this.#afterBatch(snapshot, {}, { done, total: ids.length });
    }
    await this.#flush(snapshot, { updateSeq, purgeSeq });
    await this.#reduce();
  }

  async #beginFirstPass(snapshot: Snapshot): Promise<void> {
    const { updateSeq, purgeSeq } = snapshot;
    this.#state = { ...this.#state, purgeSeq };
    await this.#mapAll(snapshot, { seq: updateSeq, after: '' });
  }

  /** The first pass. Documents that change meanwhile are mapped again when the changes are read. */
  async #mapAll(snapshot: Snapshot, { seq, after }: FirstPass): Promise<void> {
    const rest = { start: after, startInclusive: false };
    let done = await snapshot.offset(rest);
    let records: DocumentRecord[] = [];
    let bytes = 0;
    this.#firstPassSeq = seq;
    this.#pending.expectAscending(true);
    for await (const rows of snapshot.rows(rest)) {
      for (const row of rows) {
        if (!isMapped(row.id, this.#options.definition)) continue;
        const found = row.record();
        const record = found instanceof Promise ? await found : found;
        // A long document is mapped by itself.
        const isFull = records.length >= this.#batchSize || bytes + bodyBytes(record) > BATCH_BYTES;
        const last = records.at(-1);
        if (isFull && last !== undefined) {
          await this.#mapRecords(snapshot, records);
          done += records.length;
          records = [];
          bytes = 0;
          const progress = { done, total: Math.max(done, snapshot.docCount) };
          await this.#afterBatch(snapshot, { firstPass: { seq, after: last.id } }, progress);
        }
        records.push(record);
        bytes += bodyBytes(record);
      }
    }
    await this.#mapRecords(snapshot, records);
    await this.#flush(snapshot, { updateSeq: seq, firstPass: undefined });
    this.#firstPassSeq = undefined;
    this.#pending.expectAscending(false);
  }

  /** Removes the rows of purged documents, which the database's changes do not name. */
  async #removePurged(snapshot: Snapshot): Promise<void> {
    const { purgeSeq } = snapshot;
    const retained = this.#options.retain();
    try {
      for await (const ids of purgedDocuments(this.#state.byDocument, snapshot)) {
        await runCooperatively(this.#pending.addEmpty(ids));
        if (this.#isFlushDue) await this.#flush(snapshot, {}, true);
      }
    } finally {
      retained.release();
    }
    await this.#flush(snapshot, { purgeSeq }, true);
  }

  /** Maps the documents that have changed since the sequence that the index has reached. */
  async #readChanges(snapshot: Snapshot): Promise<void> {
    const since = this.#state.updateSeq;
    let snapshotSeq = snapshot.updateSeq;
    let seq = since;
    let ids: DocId[] = [];
    for await (const rows of snapshot.changes({ since })) {
      if (snapshot.updateSeq !== snapshotSeq) {
        // The snapshot was too old and has moved to a later state, in which documents that were read may come again.
        snapshotSeq = snapshot.updateSeq;
        await this.#mapChanged(snapshot, ids);
        await this.#flush(snapshot, { updateSeq: seq });
        ids = [];
      }
      for (const row of rows) {
        ids.push(row.id);
        seq = row.seq;
        if (ids.length < this.#batchSize) continue;
        await this.#mapChanged(snapshot, ids);
        ids = [];
        const progress = { done: seq - since, total: snapshot.updateSeq - since };
        await this.#afterBatch(snapshot, { updateSeq: seq }, progress);
      }
    }
    // Taken before the next read, in which the snapshot may move to a later state.
    const { updateSeq } = snapshot;
    await this.#mapChanged(snapshot, ids);
    if (updateSeq > since || !this.#pending.isEmpty || this.#underWay.length > 0)
      await this.#flush(snapshot, { updateSeq });
  }

  /** Computes the missing reductions in steps; otherwise the first query would compute them all at once. */
  async #reduce(): Promise<void> {
    for (const { rows } of this.#state.trees) await makeReductions(rows, this.#timeSlice);
  }

  get #batchSize(): number {
    return this.#options.mapper.batchSize ?? DEFAULT_BATCH;
  }

  async #afterBatch(snapshot: Snapshot, reached: Reached, { done, total }: Progress): Promise<void> {
    this.#options.check();
    this.#options.onProgress(done, total);
    while (this.#pending.sortSome()) if (this.#timeSlice.isDue) await this.#timeSlice.rest();
    if (this.#isFlushDue || this.#options.isCheckpointDue()) await this.#flush(snapshot, reached);
    if (this.#timeSlice.isDue) await this.#timeSlice.rest();
  }

  get #isFlushDue(): boolean {
    const { flushRows, flushBytes } = this.#options.settings;
    return this.#pending.rowCount >= flushRows || this.#pending.bytes >= flushBytes;
  }

  async #mapChanged(snapshot: Snapshot, ids: readonly DocId[]): Promise<void> {
    if (ids.length === 0) return;
    const { live, empty } = await readChanged(snapshot, ids, this.#options.definition);
    await runCooperatively(this.#pending.addEmpty(empty));
    for (const records of cutByBytes(live, BATCH_BYTES)) await this.#mapRecords(snapshot, records);
  }

  async #mapRecords(snapshot: Snapshot, records: readonly DocumentRecord[]): Promise<void> {
    if (records.length === 0) return;
    const bytes = records.reduce((sum, record) => sum + bodyBytes(record), 0);
    if (this.#bytesUnderWay + bytes > BYTES_UNDER_WAY) await this.#takeResults(snapshot, 0);
    await this.#map(snapshot, await this.#inputOf(snapshot, records), bytes);
  }

  #inputOf(snapshot: Snapshot, records: readonly DocumentRecord[]): MaybePromise<MapInput> {
    const { mapper, definition } = this.#options;
    const long = mapper.mapLong && longInput(snapshot, records, definition);
    return long ?? readBodies(snapshot, records, definition);
  }

  #resultsOf({ texts, long }: MapInput): MaybePromise<readonly MappedRows[]> {
    const { mapper } = this.#options;
    return (long && mapper.mapLong?.(long)) ?? mapper.map(texts);
  }

  /** Begins to map, and waits if enough is in progress. Results are taken in the order in which the documents came. */
  async #map(snapshot: Snapshot, input: MapInput, bytes: number): Promise<void> {
    const results = this.#resultsOf(input);
    if (!(results instanceof Promise) && this.#underWay.length === 0) return this.#add(snapshot, input, results);
    const later = Promise.resolve(results);
    // The caller that takes the results receives the failure.
    later.catch(() => undefined);
    this.#underWay.push({ input, bytes, results: later });
    this.#bytesUnderWay += bytes;
    await this.#takeResults(snapshot, (this.#options.mapper.concurrency ?? 1) - 1);
  }

  /** Adds the results of the maps, and maps what they left over because it was too much: rows may have to be written before all are mapped. */
  async #add(snapshot: Snapshot, { ids, texts }: MapInput, first: readonly MappedRows[]): Promise<void> {
    let results = first;
    for (let from = 0; ; ) {
      const to = from + Math.max(1, results[0]?.counts.length ?? ids.length);
      await runCooperatively(this.#pending.add(ids.slice(from, to), results));
      if (to >= ids.length) return;
      this.#options.check();
      if (this.#isFlushDue) await this.#write(snapshot, this.#reachedWith(must(ids[to - 1])));
      from = to;
      results = await this.#options.mapper.map(texts.slice(from, from + Math.max(1, this.#batchSize)));
    }
  }

  /** Returns how far the index has come with a document in the middle of a batch. Changes are not in order: their batch is mapped again. */
  #reachedWith(id: DocId): Reached {
    return this.#firstPassSeq === undefined ? {} : { firstPass: { seq: this.#firstPassSeq, after: id } };
  }

  /** Waits for the first of the batches that are being mapped, until at most `most` are left. */
  async #takeResults(snapshot: Snapshot, most: number): Promise<void> {
    while (this.#underWay.length > most) {
      const { input, bytes, results } = must(this.#underWay.shift());
      this.#bytesUnderWay -= bytes;
      await this.#add(snapshot, input, await results);
      if (this.#timeSlice.isDue) await this.#timeSlice.rest();
    }
  }

  /**
   * Writes the pending rows into the trees, and publishes the new state. `isPurge`: rows are removed because of a purge, the
   * last of them if `reached` says so.
   */
  async #flush(snapshot: Snapshot, reached: Reached, isPurge = false): Promise<void> {
    await this.#takeResults(snapshot, 0);
    await this.#write(snapshot, reached, isPurge);
  }

  async #write(snapshot: Snapshot, reached: Reached, isPurge = false): Promise<void> {
    const seenSeq = Math.max(this.#state.seenSeq, snapshot.updateSeq);
    const seq = reached.updateSeq ?? reached.firstPass?.seq ?? this.#state.updateSeq;
    const { documents, rows } = await this.#pending.take(this.#timeSlice);
    const replaced: ReplacedNode[] = [];
    const formerValues =
      this.#firstPassSeq !== undefined ? [] : await this.#state.byDocument.getMany(documents.map(({ id }) => id));
    const former = toFormerKeys(documents, formerValues);
    const leftOut =
      this.#state.leftOut +
      documents.filter(({ emitted }) => isLeftOut(emitted)).length -
      formerValues.filter(isLeftOut).length;
    const trees: ViewTree[] = [];
    const { watches } = this.#options;
    const version = this.#state.version + 1;
    for (const [index, tree] of this.#state.trees.entries()) {
      const { compareRows } = must(this.#options.orders[index]);
      let next = tree.rows;
      for (const changes of await runCooperatively(changesOf(former, index, must(rows[index]), compareRows))) {
        if (watches.has(index)) await watches.note(index, { rows: next, changes, compare: compareRows, version });
        next = await this.#update(next, changes, replaced);
      }
      const lastChange = isPurge ? afterPurge(tree, next, reached.purgeSeq) : afterChange(tree, next, seq);
      trees.push({ rows: next, lastChange });
    }
    const emitted = documents.map(({ id, emitted: value }) => ({ key: id, value }));
    const byDocument = await this.#update<string, number>(this.#state.byDocument, emitted, replaced);
    this.#state = { ...this.#state, ...reached, version, byDocument, trees, seenSeq, leftOut };
    await this.#options.publish(this.#state, replaced);
  }

  /** Updates a tree in steps, whose sizes follow from how long the last one took. */
  async #update<K, R>(
    tree: Tree<K, R>,
    changes: readonly TreeChange<K>[],
    replaced: ReplacedNode[],
  ): Promise<Tree<K, R>> {
    const { stepRows, turnMs } = this.#options.settings;
    const leastRows = Math.ceil(stepRows * MIN_STEP);
    let next = tree;
    let rows = leastRows;
    for (let from = 0; from < changes.length; ) {
      const startedAt = performance.now();
      const update = await next.update(changes.slice(from, from + rows));
      next = update.tree;
      for (const node of update.replaced) replaced.push(node);
      from += rows;
      const rowsOfOneTurn = (rows * turnMs) / Math.max(performance.now() - startedAt, 0.01);
      rows = Math.round(Math.max(leastRows, Math.min(rowsOfOneTurn, rows * 2, stepRows)));
      if (this.#timeSlice.isDue) await this.#timeSlice.rest();
    }
    return next;
  }
}

function afterChange({ rows, lastChange }: ViewTree, next: RowTree, seq: number): RowsChange {
  return next === rows ? lastChange : { ...lastChange, seq };
}

/** `purgeSeq` is undefined before the last of the purged rows are removed. The rows get fewer, so their number identifies a state. */
function afterPurge({ rows, lastChange }: ViewTree, next: RowTree, purgeSeq: number | undefined): RowsChange {
  const isUnfinished = lastChange.purgeSeq < 0;
  if (next === rows && (purgeSeq === undefined || !isUnfinished)) return lastChange;
  return { ...lastChange, purgeSeq: purgeSeq ?? -1 - next.count };
}

/** Returns the keys that the documents have in the index, by their values in by-document. */
function toFormerKeys(documents: readonly DocumentRows[], values: readonly (string | undefined)[]): FormerKeys[] {
  return values.flatMap((value, index) =>
    value === undefined ? [] : [{ id: must(documents[index]).id, keys: decodeEmitted(value) }],
  );
}
