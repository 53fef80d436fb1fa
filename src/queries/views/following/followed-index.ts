import { isDatabaseError } from '../../../base/errors/database-error.ts';
import { type MaybePromise, orElse } from '../../../base/shared/maybe-promise.ts';
import type { Database } from '../../../database/store/contract.ts';
import type { FollowedFile } from '../../../storage/page-store.ts';
import type { SnapshotRegister } from '../../../storage/paging/snapshot-register.ts';
import type { UpdateMode } from '../contract.ts';
import type { CachedIndex } from '../indexes/index-cache.ts';
import { IndexReader } from '../indexes/index-reader.ts';
import { ReduceScripts } from '../indexes/reduce-scripts.ts';
import { SharedUpdate } from '../indexes/shared-update.ts';
import type { FunctionSource, ViewFunctions } from '../indexes/view-functions.ts';
import type { ViewSettings } from '../settings.ts';
import { isOnLineage } from '../storing/index-head.ts';
import type { GroupDefinition } from '../trees/definition.ts';
import { type IndexState, unstoredBytes } from '../trees/index-state.ts';
import { createTreeOrders, keepsRefusedGrowth, type TreeOrder } from '../trees/tree-order.ts';
import { RowWatches } from '../updating/row-watches.ts';
import { Updater } from '../updating/updater.ts';
import { IndexFollower, type IndexFollowerOptions, type Present } from './index-follower.ts';

/** The most changes since the owner's last checkpoint that are mapped here. Beyond them the owner has to update its index first. */
const MAX_CHANGES = 2_000;
/** After this part of them one query goes to the owner, so that its next checkpoint comes before all queries have to. */
const REMINDER = 1 / 2;
/** The part of `ViewSettings.dirtyBytes` that one index may take in memory. */
const MAX_MEMORY = 1 / 4;

export interface FollowedIndexOptions extends IndexFollowerOptions {
  readonly databaseName: string;
  /** The file of the database. */
  readonly scope: string;
  readonly functions: ViewFunctions;
  readonly settings: ViewSettings;
  /** The sequence of the database when the owner had to answer in place of this index. Answers must not be older, even those that need not be up to date. */
  readonly shownSeq: number;
  /** Makes the database contain all that was committed before this call. */
  refreshDatabase(): Promise<void>;
  /** Called when changes were mapped, with the bytes that they take in memory. */
  onMapped(index: FollowedIndex, bytes: number): void;
  onClosed(index: FollowedIndex): void;
}

/** What an index is mapped from: a handle of its database, and the design document whose functions run. */
export interface FollowedSource {
  readonly database: Database;
  readonly functions: FunctionSource;
}

/**
 * An index that another process owns, for reading. It has what the owner stored last, and maps the changes since then itself, in memory only. What it
 * can't do fails with `not_owner`: if the owner has stored nothing that fits, or if too much has changed since.
 */
export class FollowedIndex implements CachedIndex {
  readonly definition: GroupDefinition;
  readonly databaseName: string;
  readonly orders: readonly TreeOrder[];
  /** Damage is the owner's business: reads of damaged pages fail with `not_owner`. */
  readonly isDamaged = false;
  readonly damage = undefined;
  /** Its name in the storage, and that of the database's file. */
  readonly file: string;
  readonly scope: string;
  readonly #options: FollowedIndexOptions;
  readonly #follower: IndexFollower;
  readonly #scripts: ReduceScripts;
  readonly #updates = new SharedUpdate();
  /** The greatest sequence of the answers that were given here, and by the owner in place of this index. A head may be older. */
  #shownSeq: number;
  /** The head since which the changes take too much memory. */
  #exceeded: string | undefined;
  /** The head since which a query was sent to the owner, so that the next one comes in time. */
  #reminded: string | undefined;
  /** The head whose reductions were checked, after the limit for which they were. */
  #checkedReductions: string | undefined;

  constructor(file: FollowedFile, options: FollowedIndexOptions) {
    const { definition, databaseName, functions, scope, shownSeq } = options;
    this.file = file.name;
    this.scope = scope;
    this.#options = options;
    this.#shownSeq = shownSeq;
    this.definition = definition;
    this.databaseName = databaseName;
    this.orders = createTreeOrders(definition.trees);
    this.#scripts = new ReduceScripts(this.orders, functions);
    this.#follower = new IndexFollower(file, this.orders, options);
  }

  /** Fails with `not_owner` if nothing of the index can be read. */
  get state(): IndexState {
    return this.#follower.mustHave().state;
  }

  get snapshots(): SnapshotRegister {
    return this.#follower.snapshots;
  }

  get hasFailed(): boolean {
    return this.#follower.hasFailed;
  }

  get isBusy(): boolean {
    return this.#updates.isRunning || this.#follower.isRefreshing;
  }

  noteReadFailure(): void {}

  /** Returns a reader of the index, up to date if `mode` says so. */
  read(source: FollowedSource, mode: UpdateMode): MaybePromise<IndexReader> {
    return orElse(
      () => this.#read(source, mode),
      (failure) => {
        const isLeftToOwner = isDatabaseError(failure, 'not_owner');
        if (isLeftToOwner) this.#shownSeq = Math.max(this.#shownSeq, source.database.updateSeq);
        throw failure;
      },
    );
  }

  #read(source: FollowedSource, mode: UpdateMode): MaybePromise<IndexReader> {
    const isUpdated = mode === 'before';
    if (isUpdated && this.#follower.wasRefreshed && this.#isCurrent(source)) return this.#reader();
    // An update goes on with the head with which it began.
    const refreshed = this.#updates.isRunning ? undefined : this.#follower.refresh();
    if (isUpdated && refreshed === undefined && this.#isCurrent(source)) return this.#reader();
    return this.#readLater(source, mode, refreshed);
  }

  async #readLater(source: FollowedSource, mode: UpdateMode, refreshed: MaybePromise<void>): Promise<IndexReader> {
    await refreshed;
    await this.#settle(source);
    if (mode === 'before' || this.state.updateSeq < this.#shownSeq) return this.#update(source);
    if (mode === 'after') this.#updateInBackground(source);
    return this.#reader();
  }

  async #settle(source: FollowedSource): Promise<void> {
    await this.#prepare(source);
    await this.#catchUp(source);
    await this.#mustFit(source);
  }

  #reader(): IndexReader {
    this.#shownSeq = Math.max(this.#shownSeq, this.state.updateSeq);
    return new IndexReader(this, () => Promise.reject(this.#follower.notOwner()));
  }

  #isCurrent({ database }: FollowedSource): boolean {
    const { present } = this.#follower;
    if (present === undefined || !this.#scripts.isPrepared || !this.#hasCheckedReductions(present)) return false;
    const { updateSeq, purgeSeq, firstPass } = present.state;
    const isUpdated = updateSeq === database.updateSeq && purgeSeq === database.purgeSeq && firstPass === undefined;
    return isUpdated && isOf(present, database);
  }

  /** The owner may have stored an index of a state that the database did not have yet when it was last looked at. */
  async #catchUp({ database }: FollowedSource): Promise<void> {
    if (this.#isBehind(database)) await this.#options.refreshDatabase();
    if (this.#isBehind(database)) throw this.#follower.notOwner();
  }

  #isBehind({ updateSeq, purgeSeq }: Database): boolean {
    const { state } = this;
    return state.seenSeq > updateSeq || state.updateSeq > updateSeq || state.purgeSeq > purgeSeq;
  }

  /** Fails with `not_owner` if the index reflects changes that the database has lost (docs/internals.md#losses), or another database. */
  async #mustFit({ database }: Pick<FollowedSource, 'database'>): Promise<void> {
    const present = this.#follower.mustHave();
    if (isOf(present, database)) return;
    const origin = await database.origin();
    if (this.#follower.present !== present) return this.#mustFit({ database });
    const { uuid, epoch } = present.origin;
    if (!isOnLineage({ uuid, epoch, seenSeq: present.state.seenSeq }, origin)) throw this.#lose();
    this.#follower.setOrigin(origin);
  }

  /** What was mapped may belong to a history that was lost, although the head does not. */
  #lose(): Error {
    this.#follower.forgetHead();
    this.#shownSeq = 0;
    return this.#follower.notOwner();
  }

  /** Compiles the reduce functions. Fails with `not_owner` if the owner has stored reductions that another limit refused: it has to make them again. */
  async #prepare({ functions }: FollowedSource): Promise<void> {
    await this.#scripts.prepare(functions);
    const present = this.#follower.mustHave();
    if (this.#hasCheckedReductions(present)) return;
    const limit = this.#options.functions.reduceLimit;
    if (limit !== 'true' && (await keepsRefusedGrowth(this.orders, present.stored))) throw this.#follower.notOwner();
    this.#checkedReductions = `${limit} ${present.text}`;
  }

  #hasCheckedReductions({ text }: Present): boolean {
    return !this.#scripts.isNeeded || this.#checkedReductions === `${this.#options.functions.reduceLimit} ${text}`;
  }

  /** Returns a reader of everything that is in the database now. */
  async #update(source: FollowedSource): Promise<IndexReader> {
    const { updateSeq } = source.database;
    for (;;) {
      this.#mustBeMappable(source);
      if (this.state.updateSeq >= updateSeq) return this.#reader();
      await this.#updates.join(source.database, () => this.#follower.inOrder(() => this.#map(source)));
      await this.#settle(source);
    }
  }

  /** A failure is met again by the next query. */
  #updateInBackground(source: FollowedSource): void {
    this.#mustBeMappable(source);
    this.#update(source).catch(() => undefined);
  }

  /** Fails with `not_owner` if the owner has to do the update. */
  #mustBeMappable({ database }: FollowedSource): void {
    const { text, head, state } = this.#follower.mustHave();
    const changes = database.updateSeq - head.updateSeq;
    const isReminder = changes > MAX_CHANGES * REMINDER && this.#reminded !== text;
    if (isReminder) this.#reminded = text;
    const isIncomplete = state.purgeSeq !== database.purgeSeq || state.firstPass !== undefined;
    if (isReminder || isIncomplete || changes > MAX_CHANGES || this.#exceeded === text) throw this.#follower.notOwner();
  }

  /** Maps the changes since the present state, in memory. */
  async #map({ database, functions }: FollowedSource): Promise<void> {
    const { settings } = this.#options;
    const { epoch } = database;
    const mapper = await this.#options.functions.openMapper(functions);
    try {
      const updater = new Updater({
        ...{ database, definition: this.definition, orders: this.orders, mapper, settings, state: this.state },
        publish: async (state) => this.#publish(state),
        isCheckpointDue: () => false,
        onProgress: () => undefined,
        check: () => this.#follower.mustBeOpen(),
        watches: new RowWatches(),
        retain: () => this.snapshots.take(this.state.version, Number.POSITIVE_INFINITY),
      });
      await updater.run();
    } finally {
      mapper.release();
      const { present } = this.#follower;
      this.#options.onMapped(this, present === undefined ? 0 : unstoredBytes(present.state));
    }
    // If another owner came in between, only the next query knows whether something was lost.
    if (database.epoch !== epoch) throw this.#lose();
  }

  #publish(state: IndexState): void {
    this.#follower.publish(state);
    if (unstoredBytes(state) <= this.#options.settings.dirtyBytes * MAX_MEMORY) return;
    this.#exceeded = this.#follower.mustHave().text;
    this.#follower.returnToHead();
    throw this.#follower.notOwner();
  }

  /** Gives up what was mapped, and the memory that it takes. */
  async forgetMapped(): Promise<void> {
    await this.#follower.inOrder(async () => this.#follower.returnToHead());
  }

  discard(): Promise<void> {
    return this.close();
  }

  /** Those who still read fail with `not_owner`. */
  async close(): Promise<void> {
    await this.#follower.close();
    this.#options.onClosed(this);
  }
}

function isOf({ origin }: Present, { uuid, epoch }: Pick<Database, 'uuid' | 'epoch'>): boolean {
  return origin.uuid === uuid && origin.epoch === epoch;
}
