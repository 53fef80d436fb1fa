import { DatabaseError } from '../../../base/errors/database-error.ts';
import { must } from '../../../base/shared/assert.ts';
import { Pending } from '../../../base/shared/pending.ts';
import { TimeSlice } from '../../../base/shared/turn.ts';
import type { TreeEntry } from '../../../storage/btree/contract.ts';
import { treeGroups } from '../../../storage/btree/reading/group-walk.ts';
import type { SnapshotRegister, SnapshotTicket } from '../../../storage/paging/snapshot-register.ts';
import type { ReducedRow, ReduceOptions, RowOptions, RowsChange, ViewReader, ViewRow, ViewRows } from '../contract.ts';
import { defaultViewSettings } from '../settings.ts';
import type { GroupDefinition, ViewTreeRef } from '../trees/definition.ts';
import type { IndexState } from '../trees/index-state.ts';
import { failureOf, isFailed, type Reducer } from '../trees/reducer.ts';
import type { RowKey } from '../trees/row-key.ts';
import { type RowTree, toRows } from '../trees/row-tree.ts';
import type { TreeOrder } from '../trees/tree-order.ts';
import { GroupCut, keyRange, type RowRange, rangeAfter, rangeFrom, toRowRange } from './view-range.ts';

/** The index that is read. */
interface ReadSource {
  /** The present state at the time of the call. */
  readonly state: IndexState;
  readonly definition: GroupDefinition;
  readonly orders: readonly TreeOrder[];
  readonly snapshots: SnapshotRegister;
  /** Whether its file is damaged, as far as reads have noticed. */
  readonly isDamaged: boolean;
  /** Called with errors of readers that still hold their state. */
  noteReadFailure(error: unknown): void;
}

/** Returns the index that takes the place of a damaged one: with the same definition, rebuilt. */
export type ReplaceIndex = () => Promise<ReadSource>;

/** Groups in one batch. */
const GROUP_BATCH = 100;
/** How often a reader continues with a rebuilt index: a medium that damages each of them is not worth more attempts. */
const MAX_REPLACEMENTS = 2;

/**
 * Reads one state of an index. If its hold on the state is revoked because it took too long, it continues with the present state:
 * lists of rows continue after their last row. If the index turns out to be damaged, they do the same with the one that is built
 * in its place.
 */
export class IndexReader implements ViewReader {
  readonly #replace: ReplaceIndex;
  #source: ReadSource;
  #state: IndexState;
  #ticket: SnapshotTicket;
  #replacements = 0;
  #isReleased = false;

  constructor(source: ReadSource, replace: ReplaceIndex) {
    this.#replace = replace;
    this.#source = source;
    this.#state = source.state;
    this.#ticket = source.snapshots.take(source.state.version);
  }

  get version(): number {
    return this.#state.version;
  }

  get updateSeq(): number {
    return this.#state.updateSeq;
  }

  lastChange(view: string): RowsChange {
    const { rows, lastChange } = must(this.#state.trees[this.#treeRef(view).tree]);
    // During the first pass the sequence stays the same. It only adds rows, so their number identifies a state.
    return this.#state.firstPass === undefined ? lastChange : { ...lastChange, seq: -rows.count };
  }

  totalRows(view: string): number {
    return this.#tree(this.#treeRef(view), this.#state).count;
  }

  async rows(view: string, options: RowOptions = {}): Promise<ViewRows> {
    const ref = this.#treeRef(view);
    const [first] = rangesOf(options);
    const before = first === undefined ? 0 : await this.#read((state) => this.#countBefore(ref, state, first));
    const totalRows = this.#tree(ref, this.#state).count;
    const { skip = 0, limit = Number.POSITIVE_INFINITY } = options;
    const offset = Math.min(before + skip, totalRows);
    return { totalRows, offset, rows: this.#walkAll(ref, options, skip, limit) };
  }

  async *reduce(view: string, options: ReduceOptions = {}): AsyncGenerator<readonly ReducedRow[]> {
    const ref = this.#treeRef(view);
    const { reduce } = ref;
    if (reduce === undefined) {
      throw new DatabaseError('query_parse_error', 'Reduce is invalid for map-only views.');
    }
    const { skip = 0, limit = Number.POSITIVE_INFINITY, keys } = options;
    const cut = new GroupCut(options.groupLevel ?? 0, this.#order(ref).compareKeys);
    const reducer = must(this.#order(ref).reducers[reduce]);
    // The groups of a single range are skipped by the tree.
    const skipInTree = keys === undefined ? skip : 0;
    let [toSkip, left] = [skip - skipInTree, limit];
    const timeSlice = new TimeSlice();
    for (const range of rangesOf(options)) {
      if (left <= 0) return;
      if (timeSlice.isDue) await timeSlice.rest();
      for await (const groups of this.#groups(ref, range, cut, skipInTree)) {
        const rows = groups.slice(toSkip, toSkip + left).map(({ keyText, reductions }) => {
          return { keyText, valueText: resultOf(reducer, must(reductions[reduce])) };
        });
        toSkip = Math.max(0, toSkip - groups.length);
        left -= rows.length;
        if (rows.length > 0) yield rows;
        if (left <= 0) return;
      }
    }
  }

  release(): void {
    this.#isReleased = true;
    this.#ticket.release();
  }

  #treeRef(view: string): ViewTreeRef {
    const ref = this.#source.definition.treeRefs.get(view);
    if (ref === undefined) throw new DatabaseError('not_found', 'missing_named_view');
    return ref;
  }

  #order(ref: ViewTreeRef): TreeOrder {
    return must(this.#source.orders[ref.tree]);
  }

  #tree(ref: ViewTreeRef, state: IndexState): RowTree {
    return must(state.trees[ref.tree]).rows;
  }

  async #countBefore(ref: ViewTreeRef, state: IndexState, { start, end, descending }: RowRange): Promise<number> {
    const tree = this.#tree(ref, state);
    if (descending) return end === undefined ? 0 : tree.count - (await tree.rank(end));
    return start === undefined ? 0 : tree.rank(start);
  }

  async *#walkAll(
    ref: ViewTreeRef,
    options: RowOptions,
    skip: number,
    limit: number,
  ): AsyncGenerator<readonly ViewRow[]> {
    const timeSlice = new TimeSlice();
    const isSingle = (options.keys?.length ?? 1) === 1;
    let [toSkip, left] = [skip, limit];
    for (const range of rangesOf(options)) {
      if (left <= 0) return;
      if (timeSlice.isDue) await timeSlice.rest();
      if (toSkip > 0 && !isSingle) {
        const count = await this.#read((state) => this.#tree(ref, state).countRange(range));
        if (count <= toSkip) {
          toSkip -= count;
          continue;
        }
      }
      for await (const entries of this.#walk(ref, range, toSkip)) {
        const rows = toRows(entries, left);
        left -= rows.length;
        yield rows;
        if (left <= 0) return;
      }
      toSkip = 0;
    }
  }

  async *#walk(ref: ViewTreeRef, range: RowRange, skip: number): AsyncGenerator<TreeEntry<RowKey>[]> {
    let [rest, toSkip] = [range, skip];
    for (;;) {
      const state = this.#current();
      try {
        const walk = this.#tree(ref, state).entries(rest, { descending: range.descending, skip: toSkip });
        for await (const entries of walk) {
          if (this.#isLost(state)) break;
          yield entries;
          rest = rangeAfter(range, must(entries.at(-1)).key);
          toSkip = 0;
        }
      } catch (error) {
        if (!this.#isLost(state)) await this.#goOnAfter(error);
      }
      if (!this.#isLost(state)) return;
    }
  }

  async *#groups(ref: ViewTreeRef, range: RowRange, cut: GroupCut, skip: number): AsyncGenerator<readonly Group[]> {
    if (cut.isWhole) {
      const reductions = await this.#read((state) => this.#tree(ref, state).reduceRange(range));
      if (reductions !== undefined && skip === 0) yield [{ keyText: 'null', reductions }];
      return;
    }
    const timeSlice = new TimeSlice(defaultViewSettings.turnMs);
    const sameGroup = (left: RowKey, right: RowKey) => cut.isSame(left.value, right.value);
    const { descending } = range;
    let found: Group[] = [];
    let [rest, toSkip] = [range, skip];
    let state = this.#current();
    for (;;) {
      try {
        const tree = this.#tree(ref, state);
        for await (const { key, reduction } of treeGroups(tree, rest, sameGroup, { descending, skip: toSkip })) {
          found.push({ keyText: cut.textOf(key), reductions: reduction });
          [rest, toSkip] = [rangeFrom(range, key), 1];
          if (found.length < GROUP_BATCH && !timeSlice.isDue) continue;
          yield found;
          found = [];
          if (timeSlice.isDue) await timeSlice.rest();
        }
        break;
      } catch (error) {
        // The walk continues after the last group that it reached.
        if (error instanceof Pending) await error.ready;
        else state = await this.#sameContentAfter(error, state, rest !== range);
      }
    }
    yield found;
  }

  /** Runs a read, and again on the present state if the hold on the state was revoked while it ran. */
  async #read<T>(read: (state: IndexState) => Promise<T>): Promise<T> {
    const state = this.#current();
    try {
      return await read(state);
    } catch (error) {
      if (error instanceof Pending) await error.ready;
      else if (!this.#isLost(state)) await this.#goOnAfter(error);
      return this.#read(read);
    }
  }

  /**
   * If damage caused the error, switches to the index that replaces this one; otherwise throws the error. After the release
   * of the state its pages may be missing without any damage.
   */
  async #goOnAfter(error: unknown): Promise<void> {
    if (this.#isReleased) throw error;
    this.#source.noteReadFailure(error);
    if (!this.#source.isDamaged || this.#replacements === MAX_REPLACEMENTS) throw error;
    this.#replacements++;
    const source = await this.#replace();
    if (this.#isReleased) throw error;
    this.#ticket.release();
    this.#source = source;
    this.#take();
  }

  /** Like `#goOnAfter`. If groups were already read, only those of the same content may follow. */
  async #sameContentAfter(error: unknown, state: IndexState, hasBegun: boolean): Promise<IndexState> {
    if (this.#isLost(state)) throw changedMeanwhile(error);
    await this.#goOnAfter(error);
    const next = this.#current();
    const isSame = next.updateSeq === state.updateSeq && next.purgeSeq === state.purgeSeq;
    if (hasBegun && !isSame) throw changedMeanwhile(error);
    return next;
  }

  #isLost(state: IndexState): boolean {
    return this.#ticket.revoked || this.#state !== state;
  }

  /** Returns the state to read now, which is the present one if the hold on the former one was revoked. */
  #current(): IndexState {
    if (this.#ticket.revoked) {
      this.#ticket.release();
      this.#take();
    }
    return this.#state;
  }

  #take(): void {
    this.#state = this.#source.state;
    this.#ticket = this.#source.snapshots.take(this.#state.version);
  }
}

interface Group {
  readonly keyText: string;
  readonly reductions: readonly string[];
}

/** Yields the ranges one by one, since there may be a million keys. */
export function* rangesOf(options: RowOptions): Generator<RowRange> {
  const { keys, descending = false } = options;
  if (keys === undefined) yield toRowRange(options);
  else for (const key of descending ? keys.toReversed() : keys) yield keyRange(key, options);
}

function changedMeanwhile(cause: unknown): DatabaseError {
  const reason = 'The index has changed while its groups were being read. Send the request again.';
  return new DatabaseError('cancelled', reason, { cause });
}

function resultOf(reducer: Reducer, reduction: string): string {
  if (isFailed(reduction)) throw failureOf(reduction);
  return reducer.result === undefined ? reduction : reducer.result(reduction);
}
