/**
 * Upkeep: all that is done for a database besides answering requests. A commit only appends a journal record; the rest of
 * the work is here, and is done between the commits, in the turns of the write queue (`BackgroundWork`).
 *
 * What is due when:
 * - A checkpoint (`checkpointer.ts`), when a bound of `settings.ts` is reached (`checkpoint-load.ts`), when no commit came
 *   for `idleMs`, when the database is closed, and when a compaction or a verification needs one. At one and a half times a
 *   bound the write queue accepts nothing before the checkpoint is done. It stores the body pages and tree nodes of one
 *   captured state in slices, then flips the head and truncates the journal in one commit.
 * - Repacking (`repacker.ts`), before each checkpoint that is due: some of the body pages with the smallest share of live
 *   bytes are emptied, in proportion to what was added since the last checkpoint. Live bodies move to new pages.
 * - A compaction (`compactor.ts`), when it is requested, when the database is idle and more than half of its file is
 *   garbage, and when no commit came for `restMs` and more than a fifth is: documents are trimmed (`trimmer.ts`), every page that is worth it is emptied, a checkpoint stores that, and the file returns
 *   free space to the medium.
 *
 * Who frees what: a commit or a repacking replaces tree nodes, and a repacking empties body pages. Both are collected by
 * `DatabaseState`, which hands them to the next checkpoint. When its head is stored their pages are free: they are added to
 * the `FreeList`, whose lists that head names, so that a crash leaks none of them. The checkpointer drops free pages with
 * the slices of later checkpoints, and in commits of their own when there is nothing else to do, as soon as no snapshot
 * holds a state that can reach them. A snapshot that is released therefore wakes the queue (`noteRelease`). Pages that
 * an interrupted owner left are found when the file is opened (`recovery.ts`), and then join the list.
 */
import { isDatabaseError } from '../../../base/errors/database-error.ts';
import { type Clock, startBackgroundTimer } from '../../../base/shared/clock.ts';
import { nextTurn } from '../../../base/shared/turn.ts';
import type { ActiveTasks } from '../../../base/system/active-tasks.ts';
import type { Log } from '../../../base/system/contract.ts';
import type { PageNumber, PageStoreSupport } from '../../../storage/page-store.ts';
import { FreeList } from '../../../storage/paging/free-list.ts';
import type { SnapshotRegister } from '../../../storage/paging/snapshot-register.ts';
import type { VerifyReport } from '../contract.ts';
import { verifyHead } from '../reading/verify.ts';
import type { OpenedFile } from '../state/opened-file.ts';
import type { BackgroundWork } from '../writing/write-queue.ts';
import { Checkpointer, type CheckpointSettings } from './checkpointer.ts';
import { Compactor } from './compactor.ts';
import { Repacker } from './repacker.ts';

export interface UpkeepSettings extends CheckpointSettings {
  /** Milliseconds without a commit after which a checkpoint is made. */
  readonly idleMs: number;
  /** Milliseconds without a commit after which a compaction is worth more. */
  readonly restMs: number;
}

interface UpkeepOptions {
  readonly name: string;
  readonly opened: OpenedFile;
  readonly snapshots: SnapshotRegister;
  readonly settings: UpkeepSettings;
  readonly clock: Clock;
  readonly log: Log;
  /** Shows compactions; without it they are not shown. */
  readonly tasks: ActiveTasks | undefined;
  readonly supports: PageStoreSupport;
  /** Resolves when everything that was submitted to the write queue before is committed. */
  barrier(): Promise<void>;
  /** Wakes the write queue. */
  wake(): void;
}

/** Begins, joins and ends the work that the header of this file describes. */
export class Upkeep implements BackgroundWork {
  readonly #options: UpkeepOptions;
  readonly #freeList: FreeList;
  readonly #checkpointer: Checkpointer;
  readonly #compactor: Compactor;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #stopResting: (() => void) | undefined;
  #lastCommit = 0;
  #isWaking = false;
  #isStopped = false;

  constructor(options: UpkeepOptions) {
    const { name, opened, snapshots, settings, clock, tasks, supports, barrier, wake } = options;
    const repacker = new Repacker(opened);
    this.#options = options;
    this.#freeList = new FreeList(snapshots);
    this.#checkpointer = new Checkpointer({ opened, freeList: this.#freeList, repacker, clock }, settings);
    const checkpointer = this.#checkpointer;
    const { shrinks } = supports;
    this.#compactor = new Compactor({ name, opened, snapshots, checkpointer, repacker, tasks, shrinks, barrier, wake });
  }

  get hasWork(): boolean {
    return this.#compactor.hasWork || this.#checkpointer.hasWork;
  }

  get isOverdue(): boolean {
    return this.#checkpointer.isOverdue;
  }

  get isFarOverdue(): boolean {
    return this.#checkpointer.isFarOverdue;
  }

  step(jobsWait: boolean): Promise<void> {
    return this.#compactor.hasWork ? this.#stepBoth(jobsWait) : this.#checkpointer.step(jobsWait);
  }

  async #stepBoth(jobsWait: boolean): Promise<void> {
    // If there is little room, emptied pages make it for what is moved next.
    const isDropping = this.#options.opened.file.isScarce && this.#checkpointer.hasWork;
    if (!isDropping) await this.#compactor.step();
    if (this.#checkpointer.hasWork) await this.#checkpointer.step(jobsWait);
  }

  async catchUp(): Promise<void> {
    try {
      while (this.#checkpointer.isOverdue) await this.#checkpointer.step(true);
    } catch (error) {
      this.#checkpointer.fail(error);
      throw error;
    }
  }

  fail(error: unknown): void {
    this.#compactor.fail(error);
    this.#checkpointer.fail(error);
  }

  /** Takes over pages that no state refers to; the last of them are dropped first. */
  dropLater(pages: readonly PageNumber[]): void {
    this.#freeList.add(0, pages, this.#options.opened.file);
  }

  /**
   * Like `dropLater`, but does not wait for a checkpoint: on a full medium there may be no room for one before the pages are gone, and in a
   * database without writes none would come.
   */
  dropSoon(pages: readonly PageNumber[]): void {
    this.dropLater(pages);
    this.#wakeSoon();
  }

  /** Must be called after each commit: the database is not idle. */
  noteCommit(): void {
    this.#lastCommit = performance.now();
    if (!this.#isStopped) this.#timer ??= this.#wait(this.#options.settings.idleMs);
  }

  /** Sets one timer for many commits: in browsers setting one takes as long as a good part of a commit. */
  #wait(ms: number): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      const left = this.#lastCommit + this.#options.settings.idleMs - performance.now();
      this.#timer = left > 1 ? this.#wait(left) : undefined;
      if (this.#timer === undefined) void this.#whenIdle();
    }, ms);
  }

  async #whenIdle(): Promise<void> {
    await this.#compactIfWorthwhile(false);
    this.#stopResting?.();
    // Most databases have no timer while they are idle.
    if (this.#isStopped || !(await this.#compactor.isWorthwhile(true).catch(() => false)) || this.#isStopped) return;
    this.#stopResting = startBackgroundTimer(this.#options.settings.restMs, () => {
      const hasRested = performance.now() - this.#lastCommit >= this.#options.settings.restMs - 1;
      if (hasRested && !this.#isStopped) void this.#compactIfWorthwhile(true);
    });
  }

  async #compactIfWorthwhile(hasRested: boolean): Promise<void> {
    try {
      await this.checkpoint();
      if (!this.#isStopped && (await this.#compactor.isWorthwhile(hasRested))) await this.compact();
    } catch (error) {
      if (this.#isStopped || isDatabaseError(error, 'storage_full')) return;
      this.#options.log.error(
        `a checkpoint or compaction of ${this.#options.name} failed; it is tried again after the next write`,
        error,
      );
    }
  }

  /**
   * Must be called when a reader released a snapshot: there may be pages to drop by now. The reader's response is sent first,
   * since no one waits for the drop.
   */
  noteRelease(): void {
    this.#wakeSoon();
  }

  #wakeSoon(): void {
    if (this.#isWaking || !this.#mayWork) return;
    this.#isWaking = true;
    void nextTurn().then(() => {
      this.#isWaking = false;
      if (this.#mayWork) this.#options.wake();
    });
  }

  get #mayWork(): boolean {
    return !this.#isStopped && this.#checkpointer.hasWork;
  }

  /** Stores everything that only the journal holds. */
  async checkpoint(): Promise<void> {
    const stored = this.#checkpointer.request();
    this.#options.wake();
    await stored;
  }

  /** Forgets when changes were made; what happens from now on is noted again. */
  async resetTimes(): Promise<void> {
    const stored = this.#checkpointer.forgetTimes();
    this.#options.wake();
    await stored;
  }

  get isCompacting(): boolean {
    return this.#compactor.isRunning;
  }

  /** Resolves when no compaction runs, or when that much time has passed. */
  whenCompacted(mostMs: number): Promise<void> {
    return this.#compactor.whenEnded(mostMs);
  }

  /** Compacts the database, or joins the running compaction. */
  compact(): Promise<void> {
    return this.#compactor.compact();
  }

  /** Verifies what the file holds after a checkpoint; reads and writes go on. */
  async verify(onProgress: (done: number, total: number) => void): Promise<VerifyReport> {
    const { opened, snapshots, supports, barrier } = this.#options;
    await this.checkpoint().catch((error: unknown) => {
      // Data that has no room on the medium can't be verified there.
      if (!isDatabaseError(error, 'storage_full')) throw error;
    });
    const { storedVersion } = this.#checkpointer;
    const head = opened.head.current;
    const ticket = snapshots.take(storedVersion, Number.POSITIVE_INFINITY);
    try {
      return await verifyHead({
        file: opened.file,
        head,
        supports,
        freePages: () => [...this.#freeList.pages(), ...opened.head.current.garbage, ...opened.detached.all()],
        isUnchanged: async () => {
          await barrier();
          return opened.state.current.version === storedVersion;
        },
        onProgress,
      });
    } finally {
      ticket.release();
    }
  }

  /**
   * No longer begins anything by itself, and ends a compaction early. Resolves when that has ended. Checkpoints can still be
   * requested.
   */
  stop(reason: unknown): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#stopResting?.();
    return this.#compactor.stop(reason);
  }

  /** Marks the file as closed in order, if all is stored. Only if no job can come any longer. */
  markClean(): Promise<void> {
    return this.#checkpointer.isDirty ? Promise.resolve() : this.#checkpointer.markClean();
  }
}
