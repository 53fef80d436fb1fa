import type { ReplacedNode, TreeChange } from '../../btree/contract.ts';
import { missingReductions } from '../../btree/reading/missing-reductions.ts';
import type { Tree } from '../../btree/tree.ts';
import type { Database, DocumentRecord, Snapshot } from '../../database/contract.ts';
import type { DocId } from '../../documents/contract.ts';
import { must } from '../../shared/assert.ts';
import { Pace } from '../../shared/turn.ts';
import type { Mapper } from '../contract.ts';
import type { GroupDefinition } from '../definition.ts';
import type { FirstPass, IndexState, ViewTree } from '../indexes/index-state.ts';
import type { TreeOrder } from '../indexes/tree-order.ts';
import { decodeEmitted } from '../indexes/view-tree.ts';
import type { ViewSettings } from '../settings.ts';
import { isWanted, type MapInput, readBodies, readChanged } from './map-input.ts';
import { type DocumentRows, PendingRows } from './pending-rows.ts';
import { purgedDocuments } from './purged-documents.ts';
import { changesOf } from './row-changes.ts';

const DEFAULT_BATCH = 100;
/** Of the rows that a step may have, the least: a step of rows that lie far apart takes so much longer. */
const LEAST_STEP = 1 / 10;

/** How far the index has come with a portion. */
type Reached = Partial<Pick<IndexState, 'updateSeq' | 'purgeSeq' | 'firstPass'>>;

interface Progress {
  readonly done: number;
  readonly total: number;
}

export interface UpdateParts {
  readonly database: Database;
  readonly definition: GroupDefinition;
  readonly orders: readonly TreeOrder[];
  readonly mapper: Mapper;
  readonly settings: ViewSettings;
  /** The index as it is; the update begins there. */
  readonly state: IndexState;
  /** Takes over a later moment of the index, with the nodes that are no longer part of it; may store it. */
  publish(state: IndexState, replaced: readonly ReplacedNode[]): Promise<void>;
  /** Whether to publish now, though little has come together. */
  isCheckpointDue(): boolean;
  /** So many documents, or sequence numbers, of all there are were done. */
  onProgress(done: number, total: number): void;
  /** Throws where the work is to end. */
  check(): void;
  /** Keeps the pages of what was published last, also while later moments are stored. */
  hold(): { release(): void };
}

/**
 * Brings an index up to date. A new one is made in a first pass over all documents in the order of their ids, which is that of
 * their bodies and of by-document as well; from then on the database's changes are followed from the index's own sequence. Rows
 * are worked into the trees in sorted portions, so memory is bounded by a portion, however many documents there are.
 * Whatever was published is complete up to its place, so an update that ends early goes on from there.
 */
export class Updater {
  readonly #parts: UpdateParts;
  readonly #pending: PendingRows;
  readonly #pace: Pace;
  #state: IndexState;
  /** Whether no document of this walk can have rows in the index. */
  #isFresh = false;

  constructor(parts: UpdateParts) {
    this.#parts = parts;
    this.#state = parts.state;
    this.#pending = new PendingRows(parts.definition, parts.orders);
    this.#pace = new Pace(parts.settings.turnMs);
  }

  async run(): Promise<void> {
    const snapshot = this.#parts.database.snapshot();
    try {
      const { firstPass, updateSeq, byDocument } = this.#state;
      if (firstPass !== undefined) await this.#passOver(snapshot, firstPass);
      else if (updateSeq === 0 && byDocument.isEmpty) await this.#beginPass(snapshot);
      if (snapshot.purgeSeq !== this.#state.purgeSeq) await this.#removePurged(snapshot);
      await this.#follow(snapshot);
      await this.#reduce();
    } finally {
      snapshot.release();
    }
  }

  async #beginPass(snapshot: Snapshot): Promise<void> {
    const { updateSeq, purgeSeq } = snapshot;
    this.#state = { ...this.#state, purgeSeq };
    await this.#passOver(snapshot, { seq: updateSeq, after: '' });
  }

  /** What changes meanwhile is in the list of changes that is followed afterwards. */
  async #passOver(snapshot: Snapshot, { seq, after }: FirstPass): Promise<void> {
    const rest = { start: after, startInclusive: false };
    let done = await snapshot.offset(rest);
    let records: DocumentRecord[] = [];
    this.#isFresh = true;
    this.#pending.expectAscending(true);
    for await (const rows of snapshot.rows(rest)) {
      for (const row of rows) {
        if (isWanted(row.id, this.#parts.definition)) records.push(row.record());
        if (records.length < this.#batchSize) continue;
        await this.#mapRecords(snapshot, records);
        done += records.length;
        records = [];
        const progress = { done, total: Math.max(done, snapshot.docCount) };
        await this.#afterBatch(snapshot, { firstPass: { seq, after: row.id } }, progress);
      }
    }
    await this.#mapRecords(snapshot, records);
    await this.#flush(snapshot, { updateSeq: seq, firstPass: undefined });
    this.#isFresh = false;
    this.#pending.expectAscending(false);
  }

  /** Documents that vanished are in no list of changes; those that are there but not in the database are they. */
  async #removePurged(snapshot: Snapshot): Promise<void> {
    const { purgeSeq } = snapshot;
    const hold = this.#parts.hold();
    try {
      for await (const ids of purgedDocuments(this.#state.byDocument, snapshot)) {
        this.#pending.addEmpty(ids);
        if (this.#isPortionFull) await this.#flush(snapshot, {});
      }
    } finally {
      hold.release();
    }
    await this.#flush(snapshot, { purgeSeq });
  }

  async #follow(snapshot: Snapshot): Promise<void> {
    const since = this.#state.updateSeq;
    let walkedSeq = snapshot.updateSeq;
    let seq = since;
    let ids: DocId[] = [];
    for await (const rows of snapshot.changes({ since })) {
      if (snapshot.updateSeq !== walkedSeq) {
        // The walk goes on in a later state, where documents that were met already come up again.
        walkedSeq = snapshot.updateSeq;
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
    // The walk ended in this state; what is read from now on may go on to a later one.
    const { updateSeq } = snapshot;
    await this.#mapChanged(snapshot, ids);
    if (updateSeq > since || !this.#pending.isEmpty) await this.#flush(snapshot, { updateSeq });
  }

  /** The first query would have to do it, in one go. */
  async #reduce(): Promise<void> {
    for (const { rows } of this.#state.trees) {
      const steps = await missingReductions(rows);
      while (steps.next().done !== true) if (this.#pace.isDue) await this.#pace.rest();
    }
  }

  get #batchSize(): number {
    return this.#parts.mapper.batchSize ?? DEFAULT_BATCH;
  }

  async #afterBatch(snapshot: Snapshot, reached: Reached, { done, total }: Progress): Promise<void> {
    this.#parts.check();
    this.#parts.onProgress(done, total);
    while (this.#pending.sortSome()) if (this.#pace.isDue) await this.#pace.rest();
    if (this.#isPortionFull || this.#parts.isCheckpointDue()) await this.#flush(snapshot, reached);
    if (this.#pace.isDue) await this.#pace.rest();
  }

  get #isPortionFull(): boolean {
    const { flushRows, flushBytes } = this.#parts.settings;
    return this.#pending.rowCount >= flushRows || this.#pending.bytes >= flushBytes;
  }

  async #mapChanged(snapshot: Snapshot, ids: readonly DocId[]): Promise<void> {
    if (ids.length > 0) await this.#map(await readChanged(snapshot, ids, this.#parts.definition));
  }

  async #mapRecords(snapshot: Snapshot, records: readonly DocumentRecord[]): Promise<void> {
    if (records.length === 0) return;
    await this.#map({ ...(await readBodies(snapshot, records, this.#parts.definition)), empty: [] });
  }

  async #map({ ids, texts, empty }: MapInput): Promise<void> {
    if (ids.length > 0) {
      const results = this.#parts.mapper.map(texts);
      this.#pending.add(ids, results instanceof Promise ? await results : results);
    }
    if (empty.length > 0) this.#pending.addEmpty(empty);
  }

  /** Works what is pending into the trees, and publishes the index as it is there. */
  async #flush(snapshot: Snapshot, reached: Reached): Promise<void> {
    const seenSeq = Math.max(this.#state.seenSeq, snapshot.updateSeq);
    const seq = reached.updateSeq ?? reached.firstPass?.seq ?? this.#state.updateSeq;
    const { documents, rows } = await this.#pending.take(this.#pace);
    const replaced: ReplacedNode[] = [];
    const former = this.#isFresh ? [] : await this.#formerKeys(documents);
    const trees: ViewTree[] = [];
    for (const [index, tree] of this.#state.trees.entries()) {
      const { compareRows } = must(this.#parts.orders[index]);
      let next = tree.rows;
      for (const changes of changesOf(former, index, must(rows[index]), compareRows)) {
        next = await this.#update(next, changes, replaced);
      }
      trees.push({ rows: next, lastChange: next === tree.rows ? tree.lastChange : seq });
    }
    const emitted = documents.map(({ id, emitted: value }) => ({ key: id, value }));
    const byDocument = await this.#update<string, number>(this.#state.byDocument, emitted, replaced);
    const version = this.#state.version + 1;
    this.#state = { ...this.#state, ...reached, version, byDocument, trees, seenSeq };
    await this.#parts.publish(this.#state, replaced);
  }

  /** What the documents emitted so far. */
  async #formerKeys(documents: readonly DocumentRows[]): Promise<{ id: DocId; keys: string[][] }[]> {
    const values = await this.#state.byDocument.getMany(documents.map(({ id }) => id));
    return values.flatMap((value, index) =>
      value === undefined ? [] : [{ id: must(documents[index]).id, keys: decodeEmitted(value) }],
    );
  }

  async #update<K, R>(
    tree: Tree<K, R>,
    changes: readonly TreeChange<K>[],
    replaced: ReplacedNode[],
  ): Promise<Tree<K, R>> {
    const { stepRows, turnMs } = this.#parts.settings;
    const least = Math.ceil(stepRows * LEAST_STEP);
    let next = tree;
    let rows = least;
    for (let from = 0; from < changes.length; ) {
      const startedAt = performance.now();
      const update = await next.update(changes.slice(from, from + rows));
      next = update.tree;
      for (const node of update.replaced) replaced.push(node);
      from += rows;
      const fitting = (rows * turnMs) / Math.max(performance.now() - startedAt, 0.01);
      rows = Math.round(Math.max(least, Math.min(fitting, rows * 2, stepRows)));
      if (this.#pace.isDue) await this.#pace.rest();
    }
    return next;
  }
}
