import type { ReplacedNode } from '../../btree/contract.ts';
import type { Database, DatabaseOrigin } from '../../database/contract.ts';
import { DatabaseError, isDatabaseError } from '../../errors/database-error.ts';
import { SnapshotRegister, type SnapshotTicket } from '../../paging/snapshot-register.ts';
import { must } from '../../shared/assert.ts';
import type { CacheBudget } from '../../shared/cache-budget.ts';
import type { Clock } from '../../shared/clock.ts';
import type { PageFile, PageStoreSupport } from '../../storage/page-store.ts';
import type { ActiveTasks } from '../../system/active-tasks.ts';
import type { Log } from '../../system/contract.ts';
import type { ViewGroupInfo } from '../contract.ts';
import type { GroupDefinition } from '../definition.ts';
import { IndexReader } from '../reading/index-reader.ts';
import type { ViewSettings } from '../settings.ts';
import type { FunctionSource, Functions } from '../updating/mappers.ts';
import { SharedUpdate } from '../updating/shared-update.ts';
import { Updater } from '../updating/updater.ts';
import { Checkpoints } from './checkpoints.ts';
import { copyIndex } from './index-copy.ts';
import { IndexFile } from './index-file.ts';
import { decodeIndexHead, type IndexHead } from './index-head.ts';
import { isOnLineage, isOpen } from './index-origin.ts';
import { type IndexState, liveBytes, unstoredBytes } from './index-state.ts';
import { type IndexTreeSettings, openIndexState, pagesOf } from './index-trees.ts';
import { createTreeOrders, type TreeOrder } from './tree-order.ts';

export interface ViewIndexParts {
  readonly definition: GroupDefinition;
  readonly databaseName: string;
  readonly functions: Functions;
  readonly supports: PageStoreSupport;
  readonly settings: ViewSettings;
  readonly cache: CacheBudget;
  readonly clock: Clock;
  readonly log: Log;
  readonly tasks: ActiveTasks;
  readonly collation: string;
}

/** Who asks, with the functions that may have to run. */
export interface Asker {
  readonly database: Database;
  readonly origin: DatabaseOrigin;
  readonly source: FunctionSource;
}

/**
 * One index, open: all views of one signature in one database. Updates come one after another; everyone who asks
 * meanwhile waits for the same one. Reads, checkpoints and the copying of a compaction go on beside them.
 */
export class ViewIndex {
  readonly definition: GroupDefinition;
  readonly databaseName: string;
  readonly orders: readonly TreeOrder[];
  readonly snapshots: SnapshotRegister;
  readonly #parts: ViewIndexParts;
  readonly #file: IndexFile | undefined;
  readonly #checkpoints: Checkpoints;
  #state: IndexState;
  /** The handle that the index was last compared with. */
  #knownDatabase: Database | undefined;
  #work: Promise<unknown> = Promise.resolve();
  readonly #updates = new SharedUpdate();
  #compacting: Promise<void> | undefined;
  #prepared: Promise<void> | undefined;
  #isPrepared: boolean;
  #waiting = 0;
  #hasFailed = false;
  #refusal: DatabaseError | undefined;

  private constructor(parts: ViewIndexParts, file: PageFile | undefined, head: IndexHead | undefined) {
    const { definition, clock, settings, cache } = parts;
    this.#parts = parts;
    this.definition = definition;
    this.databaseName = parts.databaseName;
    this.orders = createTreeOrders(definition.trees);
    this.#isPrepared = this.orders.every(({ scripts }) => scripts.length === 0);
    this.snapshots = new SnapshotRegister(clock, settings.snapshotMaxAgeMs, () => this.#checkpoints.noteRelease());
    const { snapshots } = this;
    this.#file =
      file === undefined
        ? undefined
        : new IndexFile(file, head, { snapshots, settings, cache, maxPageBytes: parts.supports.maxPageBytes });
    this.#state = this.#emptyState();
    this.#checkpoints = new Checkpoints({
      file: this.#file,
      settings,
      clock,
      current: () => this.#state,
      onFailure: (error) => this.#checkpointFailed(error),
    });
  }

  /** An index in memory alone. */
  static temporary(parts: ViewIndexParts): ViewIndex {
    return new ViewIndex(parts, undefined, undefined);
  }

  /** What the file has is kept where it is of this signature, this collation and this database's history. */
  static async open(parts: ViewIndexParts, file: PageFile, origin: DatabaseOrigin): Promise<ViewIndex> {
    const stored = file.opening.head === undefined ? undefined : decodeIndexHead(file.opening.head);
    const isUsable =
      stored?.signature === parts.definition.signature &&
      stored.collation === parts.collation &&
      isOnLineage(stored, origin);
    if (isUsable) {
      try {
        return await new ViewIndex(parts, file, stored).#load(stored, origin);
      } catch (error) {
        if (!isDatabaseError(error, 'storage_corrupt')) throw error;
        parts.log.error(`${file.name} is damaged and is built anew`, error);
      }
    }
    return new ViewIndex(parts, file, undefined).#load(undefined, origin);
  }

  async #load(head: IndexHead | undefined, origin: DatabaseOrigin): Promise<this> {
    const file = must(this.#file, 'a temporary index has no file to load');
    this.#checkpoints.identity = this.#identity(origin);
    if (head !== undefined) {
      this.#state = openIndexState(this.#treeSettings, head, await file.readRoots(head));
      this.#checkpoints.noteOpened(this.#state);
    }
    await file.takeOverLeftovers();
    return this;
  }

  #identity({ uuid, epoch }: DatabaseOrigin): Pick<IndexHead, 'signature' | 'collation' | 'uuid' | 'epoch'> {
    return { signature: this.definition.signature, collation: this.#parts.collation, uuid, epoch };
  }

  #emptyState(): IndexState {
    return openIndexState(this.#treeSettings, undefined, undefined);
  }

  get #treeSettings(): IndexTreeSettings {
    const { leafBytes } = this.#parts.supports;
    return { file: this.#file, orders: this.orders, leafBytes };
  }

  get state(): IndexState {
    return this.#state;
  }

  /** Whether a reader of the present state shows all that the database has. */
  isCurrent({ database }: Asker): boolean {
    return (
      this.#isPrepared &&
      this.#knownDatabase === database &&
      this.#state.updateSeq >= database.updateSeq &&
      this.#state.purgeSeq === database.purgeSeq
    );
  }

  /** Whether it has to be opened again: its file was taken over, or can't be written or read. */
  get hasFailed(): boolean {
    return this.#hasFailed || this.isDamaged;
  }

  get isDamaged(): boolean {
    return this.#file?.isDamaged ?? false;
  }

  noteReadFailure(error: unknown): void {
    this.#file?.noteFailure(error);
  }

  #noteFailure(error: unknown): void {
    this.noteReadFailure(error);
    if (isDatabaseError(error) && error.code.startsWith('storage_')) this.#hasFailed = true;
  }

  /** Whether something goes on that must not be cut short for want of a reader. */
  get isBusy(): boolean {
    return this.#updates.isRunning || this.#compacting !== undefined;
  }

  /** Whether readers can be made: reduce functions are compiled. */
  get isPrepared(): boolean {
    return this.#isPrepared;
  }

  reader(): IndexReader {
    this.#mustBeOpen();
    return new IndexReader(this);
  }

  /** Compiles what reading needs. */
  prepare(asker: Asker): Promise<void> {
    this.#prepared ??= this.#prepare(asker).catch((error: unknown) => {
      this.#prepared = undefined;
      throw error;
    });
    return this.#prepared;
  }

  async #prepare({ source }: Asker): Promise<void> {
    const { functions } = this.#parts;
    const scripts = this.orders.flatMap((order) => order.scripts);
    if (scripts.length > 0) {
      const program = await functions.openProgram(source);
      for (const script of scripts) script.reducer.use(await program.reducer(script.source, functions.reduceLimit));
    }
    this.#isPrepared = true;
  }

  /** Resolves when the index has all that the database has now. */
  async update(asker: Asker): Promise<void> {
    this.#waiting++;
    try {
      await this.prepare(asker);
      const { updateSeq, purgeSeq } = asker.database;
      do {
        this.#mustBeOpen();
        await this.#updates.join(asker.database, () => this.#inOrder(() => this.#update(asker)));
      } while (this.#state.updateSeq < updateSeq || this.#state.purgeSeq < purgeSeq);
    } finally {
      this.#waiting--;
    }
  }

  async #update(asker: Asker): Promise<void> {
    this.#mustBeOpen();
    const { database, source } = asker;
    this.#checkpoints.noteBegin();
    const task = this.#parts.tasks.start('indexer', this.databaseName, source.designId);
    task.update(0, database.updateSeq - this.#state.updateSeq);
    try {
      await this.#compareWith(asker);
      await this.#runUpdater(asker, (done, total) => task.update(done, total));
    } catch (error) {
      if (isOpen(database)) this.#noteFailure(error);
      throw error;
    } finally {
      task.end();
      this.#checkpoints.noteUpdate();
    }
  }

  async #runUpdater({ database, source }: Asker, onProgress: (done: number, total: number) => void): Promise<void> {
    const mapper = await this.#parts.functions.openMapper(source);
    try {
      const updater = new Updater({
        database,
        definition: this.definition,
        orders: this.orders,
        mapper,
        settings: this.#parts.settings,
        state: this.#state,
        publish: (state, replaced) => this.#publish(state, replaced),
        isCheckpointDue: () => this.#checkpoints.isDueByTime,
        onProgress,
        check: () => this.#mustBeOpen(),
        hold: () => this.#hold(),
      });
      await updater.run();
    } finally {
      mapper.release();
    }
  }

  /** A handle that was opened anew may have lost what the index has seen. */
  async #compareWith({ database, origin }: Asker): Promise<void> {
    if (this.#knownDatabase === database || !isOpen(database)) return;
    const { uuid, epoch } = this.#checkpoints.identity ?? origin;
    if (!isOnLineage({ uuid, epoch, seenSeq: this.#state.seenSeq }, origin)) await this.#beginAnew();
    this.#checkpoints.identity = this.#identity(origin);
    this.#knownDatabase = database;
  }

  async #beginAnew(): Promise<void> {
    this.#parts.log.info(`an index of ${this.databaseName} is of a lost state of it and is built anew`);
    await this.#checkpoints.betweenStores(async () => {
      const former = this.#state;
      const gone = await pagesOf(former);
      this.#state = { ...this.#emptyState(), version: former.version + 1 };
      this.#checkpoints.noteReplaced(gone);
    });
  }

  async #publish(state: IndexState, replaced: readonly ReplacedNode[]): Promise<void> {
    this.#state = state;
    this.#checkpoints.noteReplaced(replaced);
    await this.#checkpoints.keepUp();
  }

  /** Joins a compaction that runs. */
  compact(asker: Asker): Promise<void> {
    this.#compacting ??= this.#compact(asker).finally(() => {
      this.#compacting = undefined;
    });
    return this.#compacting;
  }

  async #compact(asker: Asker): Promise<void> {
    const file = this.#file;
    if (file === undefined) return;
    await this.prepare(asker);
    const task = this.#parts.tasks.start('view_compaction', this.databaseName, asker.source.designId);
    try {
      await this.#checkpoints.run();
      const wasCopied = await this.#copy(file, false);
      if (!wasCopied) await this.#inOrder(() => this.#copy(file, true));
      await file.file.compact?.();
    } catch (error) {
      this.noteReadFailure(error);
      throw error;
    } finally {
      task.end();
    }
  }

  /** Keeps the pages of the present state, for those who walk it while others go on. */
  #hold(): SnapshotTicket {
    return this.snapshots.take(this.#state.version, Number.POSITIVE_INFINITY);
  }

  /** Copies the index as it is. Where updates may go on beside it: false if one came between. */
  async #copy(file: IndexFile, isAlone: boolean): Promise<boolean> {
    const former = this.#state;
    const { settings } = this.#parts;
    const empty = this.#emptyState();
    const hold = this.#hold();
    let isKept = false;
    try {
      const copy = await copyIndex(former, empty, { file, settings, check: () => this.#mustBeOpen() });
      await this.#checkpoints.betweenStores(async () => {
        const gone = await pagesOf(former);
        if (this.#state !== former || (this.#updates.isRunning && !isAlone)) return;
        this.#state = copy.state;
        // In one checkpoint with what takes its place: nobody would know of the former pages if the process ended between two.
        this.#checkpoints.noteReplaced([...copy.replaced, ...gone]);
        isKept = true;
        file.endCopy(true, copy.state.version);
      });
    } finally {
      if (!isKept) file.endCopy(false, this.#state.version);
      hold.release();
    }
    if (isKept) await this.#checkpoints.run();
    return isKept;
  }

  async info(): Promise<Omit<ViewGroupInfo, 'signature' | 'language'>> {
    const { updateSeq, purgeSeq } = this.#state;
    return {
      updateSeq,
      purgeSeq,
      updaterRunning: this.#updates.isRunning,
      compactRunning: this.#compacting !== undefined,
      waitingClients: this.#waiting,
      waitingCommit: unstoredBytes(this.#state) > 0,
      diskSize: (await this.#file?.file.size()) ?? 0,
      dataSize: liveBytes(this.#state),
    };
  }

  /** Stores what is in memory, and gives the file back. An update that runs ends early. */
  async close(): Promise<void> {
    this.#refusal = new DatabaseError(
      'shutting_down',
      `The index of ${this.databaseName} was closed. Send the request again.`,
    );
    await this.#work;
    await this.#compacting?.catch(() => undefined);
    try {
      await this.#checkpoints.end();
    } finally {
      await this.#file?.close();
    }
  }

  /** Ends without storing anything more, for a file that is being removed; or opened again, of which `reason` tells. */
  async discard(reason?: DatabaseError): Promise<void> {
    const deleted = `The database ${this.databaseName}, or its index, was deleted.`;
    this.#refusal = reason ?? new DatabaseError('storage_deleted', deleted);
    await this.#checkpoints.abandon();
    await this.#work;
    await this.#compacting?.catch(() => undefined);
    await this.#file?.close().catch(() => undefined);
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#work.then(work);
    this.#work = result.catch(() => undefined);
    return result;
  }

  #mustBeOpen(): void {
    if (this.#refusal !== undefined) throw this.#refusal;
  }

  #checkpointFailed(error: unknown): void {
    this.#noteFailure(error);
    if (isDatabaseError(error, 'storage_deleted')) return;
    this.#parts.log.error(`an index of ${this.databaseName} could not be stored; it is tried again`, error);
  }
}
