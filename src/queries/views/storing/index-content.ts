import { type DatabaseError, isDatabaseError } from '../../../base/errors/database-error.ts';
import type { CacheBudget } from '../../../base/shared/cache-budget.ts';
import type { Clock } from '../../../base/shared/clock.ts';
import type { Log } from '../../../base/system/contract.ts';
import type { ReplacedNode } from '../../../storage/btree/contract.ts';
import type { PageFile, PageStoreSupport } from '../../../storage/page-store.ts';
import { SnapshotRegister, type SnapshotTicket } from '../../../storage/paging/snapshot-register.ts';
import type { ViewSettings } from '../settings.ts';
import { type IndexState, liveBytes, unstoredBytes } from '../trees/index-state.ts';
import type { TreeOrder } from '../trees/tree-order.ts';
import { Checkpointer } from './checkpointer.ts';
import { IndexFile, type IndexIdentity } from './index-file.ts';
import type { IndexHead, IndexRoots } from './index-head.ts';
import { copyIndex, openIndexState, pagesOf } from './index-trees.ts';

interface IndexContentOptions {
  /** For the log. */
  readonly databaseName: string;
  readonly orders: readonly TreeOrder[];
  readonly supports: PageStoreSupport;
  readonly settings: ViewSettings;
  readonly cache: CacheBudget;
  readonly clock: Clock;
  readonly log: Log;
}

interface RewriteOptions {
  /** Throws if the work is to end. */
  check(): void;
  /** Returns whether the copy may replace the present state; called when the copy is complete. */
  mayReplace(): boolean;
}

interface ContentInfo {
  /** How many documents could not be mapped for at least one view. `waitingCommit`: whether something is in memory only. */
  readonly documentsLeftOut: number;
  readonly waitingCommit: boolean;
  /** Bytes. */
  readonly diskSize: number;
  readonly dataSize: number;
}

/**
 * The content of an index: its present state, earlier states that readers still use, and the file that stores it. A new
 * state is published first and stored later, by a checkpoint.
 */
export class IndexContent {
  readonly snapshots: SnapshotRegister;
  readonly #options: IndexContentOptions;
  readonly #file: IndexFile | undefined;
  readonly #checkpointer: Checkpointer;
  #state: IndexState;
  #hasFailed = false;

  /** Without a file the index is in memory only. Without a head the pages in the file are not used. */
  constructor(options: IndexContentOptions, file: PageFile | undefined, head: IndexHead | undefined) {
    const { settings, cache, clock, supports } = options;
    this.#options = options;
    this.snapshots = new SnapshotRegister(clock, settings.snapshotMaxAgeMs, () =>
      this.#checkpointer.onReaderReleased(),
    );
    const { snapshots } = this;
    this.#file = file === undefined ? undefined : new IndexFile(file, head, { snapshots, settings, cache, supports });
    this.#state = this.#openState(undefined, undefined);
    this.#checkpointer = new Checkpointer({
      file: this.#file,
      settings,
      clock,
      current: () => this.#state,
      onFailure: (error) => this.#checkpointFailed(error),
    });
  }

  /** Reads the state that the head leads to, and frees the pages that it does not lead to. */
  async load(head: IndexHead | undefined): Promise<void> {
    const file = this.#file;
    if (file === undefined) return;
    if (head !== undefined) {
      this.#state = this.#openState(head, await file.readRoots(head));
      this.#checkpointer.setStored(this.#state);
    }
    await file.freeLeftovers();
  }

  #openState(head: IndexHead | undefined, roots: IndexRoots | undefined): IndexState {
    const { orders, supports } = this.#options;
    return openIndexState({ file: this.#file, orders, leafBytes: supports.leafBytes }, head, roots);
  }

  get state(): IndexState {
    return this.#state;
  }

  /** False for an index that is in memory only. */
  get hasFile(): boolean {
    return this.#file !== undefined;
  }

  /** Written into the file's head; nothing is stored before it is set. */
  get identity(): IndexIdentity | undefined {
    return this.#checkpointer.identity;
  }

  set identity(identity: IndexIdentity) {
    this.#checkpointer.identity = identity;
  }

  /** Keeps the pages of the present state from being dropped, for work that reads all of it. */
  retain(): SnapshotTicket {
    return this.snapshots.take(this.#state.version, Number.POSITIVE_INFINITY);
  }

  /** An update begins, which will publish states. */
  beginUpdate(): void {
    this.#checkpointer.beginUpdate();
  }

  /** Makes `state` the present one. Resolves when the update may go on, which may be after a checkpoint. */
  async publish(state: IndexState, replaced: readonly ReplacedNode[]): Promise<void> {
    this.#state = state;
    this.#checkpointer.addReplaced(replaced);
    await this.#checkpointer.runIfDue();
  }

  /** The update has ended: the last state is stored soon. */
  endUpdate(): void {
    this.#checkpointer.schedule();
  }

  /** Returns whether an update should publish what it has, so that it can be stored. */
  get isCheckpointDue(): boolean {
    return this.#checkpointer.isDueByTime;
  }

  /** Replaces the present state with an empty one. */
  async clear(): Promise<void> {
    await this.#checkpointer.exclusively(async () => {
      const former = this.#state;
      const replaced = await pagesOf(former);
      this.#state = { ...this.#openState(undefined, undefined), version: former.version + 1 };
      this.#checkpointer.addReplaced(replaced);
    });
  }

  /**
   * Rewrites the present state into full pages, and lets the file release the space. Returns whether the copy replaced the
   * state: it can't if another state was published meanwhile, and does not if `mayReplace` returns false.
   */
  async rewrite({ check, mayReplace }: RewriteOptions): Promise<boolean> {
    const file = this.#file;
    if (file === undefined) return true;
    const { settings } = this.#options;
    const former = this.#state;
    const ticket = this.retain();
    let isReplaced = false;
    try {
      const copy = await copyIndex(former, this.#openState(undefined, undefined), { file, settings, check });
      await this.#checkpointer.exclusively(async () => {
        const replaced = await pagesOf(former);
        if (this.#state !== former || !mayReplace()) return;
        this.#state = copy.state;
        // The same checkpoint frees the former pages and stores the copy: after a crash between two, nothing would refer to them.
        this.#checkpointer.addReplaced([...copy.replaced, ...replaced]);
        isReplaced = true;
        file.endCopy(true, copy.state.version);
      });
    } finally {
      if (!isReplaced) file.endCopy(false, this.#state.version);
      ticket.release();
    }
    if (isReplaced) await this.#checkpointer.run();
    return isReplaced;
  }

  /** Resolves when the present state is stored. */
  store(): Promise<void> {
    return this.#checkpointer.run();
  }

  /** Lets the file release the space of dropped pages. */
  async compactFile(): Promise<void> {
    await this.#file?.file.compact?.();
  }

  /** Returns whether the index has to be opened again: its file belongs to another owner, or can't be written or read. */
  get hasFailed(): boolean {
    return this.#hasFailed || this.damage !== undefined;
  }

  /** The first error that showed that the file is damaged. */
  get damage(): DatabaseError | undefined {
    return this.#file?.damage;
  }

  /** Notices damage in the error of a read, whose reader must still hold its state. */
  noteReadFailure(error: unknown): void {
    this.#file?.noteFailure(error);
  }

  /** Checks whether the error of an update or a checkpoint means that the file can't be used any more. */
  noteFailure(error: unknown): void {
    this.noteReadFailure(error);
    if (isDatabaseError(error) && error.code.startsWith('storage_')) this.#hasFailed = true;
  }

  #checkpointFailed(error: unknown): void {
    this.noteFailure(error);
    if (isDatabaseError(error, 'storage_deleted')) return;
    const { log, databaseName } = this.#options;
    const text = `an index of ${databaseName} could not be stored; the next checkpoint tries it again`;
    // Such as a reduce function that takes too long: a mistake of a document, and not of this service.
    if (isDatabaseError(error) && !error.code.startsWith('storage_')) log.warning?.(`${text}: ${error.reason}`);
    else log.error(text, error);
  }

  async info(): Promise<ContentInfo> {
    return {
      documentsLeftOut: this.#state.leftOut,
      waitingCommit: unstoredBytes(this.#state) > 0,
      diskSize: (await this.#file?.file.size()) ?? 0,
      dataSize: liveBytes(this.#state),
    };
  }

  /** Stores the present state, and closes the file. */
  async close(): Promise<void> {
    try {
      await this.#checkpointer.finish();
    } finally {
      await this.#file?.close();
    }
  }

  /** Stores nothing more. The file stays open for work that is still ending. */
  abandon(): Promise<void> {
    return this.#checkpointer.abandon();
  }

  /** Closes the file after `abandon`. */
  async closeFile(): Promise<void> {
    await this.#file?.close().catch(() => undefined);
  }
}
