import { DatabaseError } from '../../../base/errors/database-error.ts';
import type { CacheBudget } from '../../../base/shared/cache-budget.ts';
import type { Clock } from '../../../base/shared/clock.ts';
import type { ActiveTasks } from '../../../base/system/active-tasks.ts';
import type { Log } from '../../../base/system/contract.ts';
import type { DocId } from '../../../database/documents/contract.ts';
import type { Database, DatabaseOrigin } from '../../../database/store/contract.ts';
import type { PageFile, PageStoreSupport } from '../../../storage/page-store.ts';
import type { SnapshotRegister } from '../../../storage/paging/snapshot-register.ts';
import type { ReduceLimit } from '../../sandbox/contract.ts';
import type { ViewGroupInfo } from '../contract.ts';
import type { ViewSettings } from '../settings.ts';
import { IndexContent } from '../storing/index-content.ts';
import type { IndexIdentity } from '../storing/index-file.ts';
import { decodeIndexHead, type IndexHead, isOnLineage } from '../storing/index-head.ts';
import type { GroupDefinition } from '../trees/definition.ts';
import type { IndexState } from '../trees/index-state.ts';
import { createTreeOrders, keepsRefusedGrowth, type TreeOrder } from '../trees/tree-order.ts';
import { RowWatches } from '../updating/row-watches.ts';
import { Updater } from '../updating/updater.ts';
import { IndexReader, type ReplaceIndex } from './index-reader.ts';
import { ReduceScripts } from './reduce-scripts.ts';
import { SharedUpdate } from './shared-update.ts';
import type { FunctionSource, ViewFunctions } from './view-functions.ts';

export interface ViewIndexOptions {
  readonly definition: GroupDefinition;
  readonly databaseName: string;
  readonly functions: ViewFunctions;
  readonly supports: PageStoreSupport;
  readonly settings: ViewSettings;
  readonly cache: CacheBudget;
  readonly clock: Clock;
  readonly log: Log;
  readonly tasks: ActiveTasks;
  /** The version of the collation (`collationVersion`). */
  readonly collation: string;
}

/** What an index is made from: a handle of its database, and the design document whose functions run. */
export interface IndexSource {
  readonly database: Database;
  readonly origin: DatabaseOrigin;
  readonly functions: FunctionSource;
}

/**
 * An open index: all views of one signature in one database. Updates run one after another, and a caller that requests
 * one while it runs waits for that one. Reads, checkpoints and the copying of a compaction run concurrently with updates.
 */
export class ViewIndex {
  readonly definition: GroupDefinition;
  readonly databaseName: string;
  readonly orders: readonly TreeOrder[];
  readonly watches = new RowWatches();
  readonly #options: ViewIndexOptions;
  readonly #docIds: readonly DocId[] | undefined;
  readonly #content: IndexContent;
  /** The handle whose history the index was last compared with. */
  #comparedDatabase: Database | undefined;
  /** The last of the updates and compactions that run one after another. */
  #lastWork: Promise<unknown> = Promise.resolve();
  readonly #updates = new SharedUpdate();
  #compacting: Promise<void> | undefined;
  readonly #scripts: ReduceScripts;
  /** The limit of reductions for which the stored ones were checked: some may have been refused under another limit. */
  #keptLimit: ReduceLimit | undefined;
  /** How many callers wait for an update. */
  #waiting = 0;
  /** Set when it is closed: the error that is thrown from then on. */
  #closedError: DatabaseError | undefined;

  private constructor(
    options: ViewIndexOptions,
    file: PageFile | undefined,
    head: IndexHead | undefined,
    docIds?: readonly DocId[],
  ) {
    const { definition, databaseName } = options;
    this.#options = options;
    this.#docIds = docIds;
    this.definition = definition;
    this.databaseName = databaseName;
    this.orders = createTreeOrders(definition.trees);
    this.#scripts = new ReduceScripts(this.orders, options.functions);
    this.#content = new IndexContent({ ...options, orders: this.orders }, file, head);
  }

  /** Creates an index in memory only. `docIds`: the only documents that it maps, once. */
  static temporary(options: ViewIndexOptions, docIds: readonly DocId[] | undefined): ViewIndex {
    return new ViewIndex(options, undefined, undefined, docIds);
  }

  /**
   * Uses the content of the file if it has this signature and collation, and reflects this database's history. Fails with
   * `storage_corrupt` if the file is damaged.
   */
  static async open(options: ViewIndexOptions, file: PageFile, origin: DatabaseOrigin): Promise<ViewIndex> {
    const { head } = file.opening;
    const stored = head === undefined ? undefined : decodeIndexHead(head, options.supports.crc32);
    if (head !== undefined && stored === undefined)
      options.log.info(`${file.name} can't be read, so it is built again`);
    const isUsable =
      stored?.signature === options.definition.signature &&
      stored.collation === options.collation &&
      isOnLineage(stored, origin);
    const used = isUsable ? stored : undefined;
    return new ViewIndex(options, file, used).#load(used, origin);
  }

  async #load(head: IndexHead | undefined, origin: DatabaseOrigin): Promise<this> {
    this.#content.identity = this.#identity(origin);
    await this.#content.load(head);
    return this;
  }

  #identity({ uuid, epoch }: DatabaseOrigin): IndexIdentity {
    return { signature: this.definition.signature, collation: this.#options.collation, uuid, epoch };
  }

  get state(): IndexState {
    return this.#content.state;
  }

  get snapshots(): SnapshotRegister {
    return this.#content.snapshots;
  }

  /** Returns whether the present state reflects everything that is in the database. */
  isCurrent({ database }: IndexSource): boolean {
    const { updateSeq, purgeSeq } = this.state;
    return (
      this.isPrepared &&
      this.#hasFittingReductions &&
      this.#comparedDatabase === database &&
      updateSeq >= database.updateSeq &&
      purgeSeq === database.purgeSeq
    );
  }

  /** Returns whether it has to be opened again: its file belongs to another owner, or can't be written or read. */
  get hasFailed(): boolean {
    return this.#content.hasFailed;
  }

  get isDamaged(): boolean {
    return this.#content.damage !== undefined;
  }

  /** The first error that showed that the file is damaged. */
  get damage(): DatabaseError | undefined {
    return this.#content.damage;
  }

  noteReadFailure(error: unknown): void {
    this.#content.noteReadFailure(error);
  }

  /** Returns whether an update or a compaction runs, which must continue even if no one reads. */
  get isBusy(): boolean {
    return this.#updates.isRunning || this.#compacting !== undefined;
  }

  /** Returns whether `reader` may be called. */
  get isPrepared(): boolean {
    return this.#scripts.isPrepared;
  }

  get #hasFittingReductions(): boolean {
    return !this.#scripts.isNeeded || this.#keptLimit === this.#options.functions.reduceLimit;
  }

  reader(replace: ReplaceIndex): IndexReader {
    this.#assertOpen();
    return new IndexReader(this, replace);
  }

  /** Compiles the reduce functions, which readers need, for the present limits. */
  prepare({ functions }: IndexSource): Promise<void> {
    return this.#scripts.prepare(functions);
  }

  /** Resolves when the index reflects everything that is in the database now. */
  async update(source: IndexSource): Promise<void> {
    this.#waiting++;
    try {
      const { updateSeq, purgeSeq } = source.database;
      do {
        await this.prepare(source);
        this.#assertOpen();
        await this.#updates.join(source.database, () => this.#inOrder(() => this.#update(source)));
      } while (!this.#hasFittingReductions || this.state.updateSeq < updateSeq || this.state.purgeSeq < purgeSeq);
    } finally {
      this.#waiting--;
    }
  }

  async #update(source: IndexSource): Promise<void> {
    this.#assertOpen();
    const { database } = source;
    this.#content.beginUpdate();
    const task = this.#options.tasks.start('indexer', this.databaseName, source.functions.designId);
    task.update(0, database.updateSeq - this.state.updateSeq);
    try {
      await this.#compareHistory(source);
      await this.#dropRefusedGrowth();
      await this.#runUpdater(source, (done, total) => task.update(done, total));
    } catch (error) {
      // A handle that was closed meanwhile fails as well, which says nothing about the index.
      if (isOpen(database)) this.#content.noteFailure(error);
      throw error;
    } finally {
      task.end();
      this.#content.endUpdate();
    }
  }

  async #runUpdater(source: IndexSource, onProgress: (done: number, total: number) => void): Promise<void> {
    const content = this.#content;
    const mapper = await this.#options.functions.openMapper(source.functions);
    try {
      const updater = new Updater({
        database: source.database,
        definition: this.definition,
        docIds: this.#docIds,
        orders: this.orders,
        mapper,
        settings: this.#options.settings,
        state: content.state,
        publish: (state, replaced) => content.publish(state, replaced),
        isCheckpointDue: () => content.isCheckpointDue,
        onProgress,
        check: () => this.#assertOpen(),
        watches: this.watches,
        retain: () => content.retain(),
      });
      await updater.run();
    } finally {
      mapper.release();
    }
  }

  /** Empties the index if the database has lost changes that it reflects, which only a newly opened handle can have. */
  async #compareHistory({ database, origin }: IndexSource): Promise<void> {
    if (this.#comparedDatabase === database || !isOpen(database)) return;
    const { uuid, epoch } = this.#content.identity ?? origin;
    if (!isOnLineage({ uuid, epoch, seenSeq: this.state.seenSeq }, origin)) {
      this.#options.log.info(
        `an index of ${this.databaseName} has changes that the database has lost, so it is built again`,
      );
      await this.#content.clear();
      this.watches.lose();
    }
    this.#content.identity = this.#identity(origin);
    this.#comparedDatabase = database;
  }

  /** Empties the index if it stores reductions that were refused, but would now be accepted. */
  async #dropRefusedGrowth(): Promise<void> {
    const { functions, log } = this.#options;
    const limit = functions.reduceLimit;
    if (this.#hasFittingReductions || !this.isPrepared) return;
    if (limit !== 'true' && (await keepsRefusedGrowth(this.orders, this.state))) {
      log.info(
        `an index of ${this.databaseName} has reductions that another value of query_server_config/reduce_limit refused, so it is built again`,
      );
      await this.#content.clear();
      this.watches.lose();
    }
    this.#keptLimit = limit;
  }

  /** Joins a running compaction, or begins one. */
  compact(source: IndexSource): Promise<void> {
    this.#compacting ??= this.#compact(source).finally(() => {
      this.#compacting = undefined;
    });
    return this.#compacting;
  }

  async #compact(source: IndexSource): Promise<void> {
    if (!this.#content.hasFile) return;
    await this.prepare(source);
    const task = this.#options.tasks.start('view_compaction', this.databaseName, source.functions.designId);
    const check = (): void => this.#assertOpen();
    try {
      await this.#content.store();
      // First concurrently with updates; if one came between, the copy is made again while none can run.
      const isDone = await this.#content.rewrite({ check, mayReplace: () => !this.#updates.isRunning });
      if (!isDone) await this.#inOrder(() => this.#content.rewrite({ check, mayReplace: () => true }));
      await this.#content.compactFile();
    } catch (error) {
      this.noteReadFailure(error);
      throw error;
    } finally {
      task.end();
    }
  }

  async info(): Promise<Omit<ViewGroupInfo, 'signature' | 'language'>> {
    const { updateSeq, purgeSeq } = this.state;
    return {
      updateSeq,
      purgeSeq,
      updaterRunning: this.#updates.isRunning,
      compactRunning: this.#compacting !== undefined,
      waitingClients: this.#waiting,
      ...(await this.#content.info()),
    };
  }

  /** Stores what is in memory, and closes the file. A running update ends early. */
  async close(): Promise<void> {
    const reason = `The index of ${this.databaseName} was closed. Send the request again.`;
    await this.#endWork(new DatabaseError('shutting_down', reason));
    await this.#content.close();
  }

  /**
   * Closes the file without storing anything more, because it is removed or opened again. Callers that still use the index receive
   * `error`, by default that it was deleted.
   */
  async discard(error?: DatabaseError): Promise<void> {
    const deleted = `The database ${this.databaseName}, or its index, was deleted.`;
    this.#closedError = error ?? new DatabaseError('storage_deleted', deleted);
    await this.#content.abandon();
    await this.#endWork(this.#closedError);
    await this.#content.closeFile();
  }

  /** Ends updates and compactions early, and waits for their end. */
  async #endWork(error: DatabaseError): Promise<void> {
    this.#closedError = error;
    await this.#lastWork;
    await this.#compacting?.catch(() => undefined);
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#lastWork.then(work);
    this.#lastWork = result.catch(() => undefined);
    return result;
  }

  #assertOpen(): void {
    if (this.#closedError !== undefined) throw this.#closedError;
  }
}

/** Returns whether the handle is open. A closed one no longer knows anything about its database. */
export function isOpen(database: Database): boolean {
  try {
    database.snapshot().release();
    return true;
  } catch {
    return false;
  }
}
