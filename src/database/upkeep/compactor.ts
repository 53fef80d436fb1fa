import type { SnapshotRegister } from '../../paging/snapshot-register.ts';
import { assert } from '../../shared/assert.ts';
import type { PageNumber } from '../../storage/page-store.ts';
import type { ActiveTasks } from '../../system/active-tasks.ts';
import type { ActiveTask } from '../../system/contract.ts';
import type { OpenedFile } from '../state/opened-file.ts';
import { liveBytes } from '../state/state.ts';
import type { Checkpointer } from './checkpointer.ts';
import { isWorthCompacting, type Repacker } from './repacker.ts';

/** Files below this size are not worth compacting by themselves. */
const MIN_COMPACTED_BYTES = 4 * 2 ** 20;
/** Pages that are looked at in one turn of the write queue. */
const PAGES_PER_STEP = 8;

interface CompactorParts {
  readonly name: string;
  readonly opened: OpenedFile;
  readonly snapshots: SnapshotRegister;
  readonly checkpointer: Checkpointer;
  readonly repacker: Repacker;
  /** Where compactions are shown; without it they are not. */
  readonly tasks: ActiveTasks | undefined;
  /** Whether the file gives space back by itself. */
  readonly shrinks: boolean;
  /** Resolves when everything that was submitted before is committed. */
  barrier(): Promise<void>;
  /** Wakes the write queue. */
  wake(): void;
}

/** The part of a compaction that is done in the turns of the write queue: emptying pages. */
interface Emptying {
  /** The pages that are still to be looked at. */
  readonly pages: PageNumber[];
  readonly total: number;
  readonly done: Promise<void>;
  onProgress(done: number, total: number): void;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Compacts a database, one compaction at a time: every body page that holds garbage, or is far from full, is emptied, a
 * few at a time between the group commits; a checkpoint makes that last, and the pages are dropped; then the file gives
 * the space of free pages back to the medium, where it does not do so by itself.
 */
export class Compactor {
  readonly #parts: CompactorParts;
  #compaction: Promise<void> | undefined;
  #emptying: Emptying | undefined;
  #isStopped = false;
  #stopReason: unknown;
  /** Size of the file after its last compaction. */
  #compactedSize = 0;

  constructor(parts: CompactorParts) {
    this.#parts = parts;
  }

  get isRunning(): boolean {
    return this.#compaction !== undefined;
  }

  /** Whether more than half of the file is garbage. After a compaction not before the file has grown by half. */
  async isWorthwhile(): Promise<boolean> {
    const { file, state } = this.#parts.opened;
    const size = await file.size();
    return size > MIN_COMPACTED_BYTES && size > 2 * liveBytes(state.current) && size > 1.5 * this.#compactedSize;
  }

  /** Compacts the database, or joins the compaction that runs. */
  compact(): Promise<void> {
    this.#compaction ??= this.#run().finally(() => {
      this.#compaction = undefined;
    });
    return this.#compaction;
  }

  /** Resolves when the compaction that runs has ended, be it with a failure, or when so much time has passed. */
  whenEnded(mostMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, mostMs);
      const end = () => {
        clearTimeout(timer);
        resolve();
      };
      void Promise.resolve(this.#compaction).then(end, end);
    });
  }

  /** Shown as a task (docs/http.md#active-tasks), whoever asked for it. */
  async #run(): Promise<void> {
    this.#mustGoOn();
    const { name, opened, tasks } = this.#parts;
    const task = tasks?.start('database_compaction', name);
    try {
      await this.#compact(task);
    } finally {
      task?.end();
    }
    this.#compactedSize = await opened.file.size();
  }

  async #compact(task: ActiveTask | undefined): Promise<void> {
    const { checkpointer, opened, shrinks, barrier, wake } = this.#parts;
    await barrier();
    // The barrier may have come through with the last commit before the end; a checkpoint would never come then.
    this.#mustGoOn();
    // Bodies that only the journal holds are in no page that could be emptied.
    await this.#checkpoint();
    const changes = opened.state.current.bySeq.count;
    task?.update(0, changes);
    // A page counts for its share of the changes, and what comes after the last page as another one.
    await this.#beginEmptying((done, total) => task?.update(Math.floor((changes * done) / (total + 1)), changes));
    this.#mustGoOn();
    wake();
    await this.#emptying?.done;
    this.#mustGoOn();
    await this.#checkpoint();
    this.#mustGoOn();
    // Before the file is copied: its copy would be larger by these pages for ever.
    const dropped = checkpointer.whenDropped();
    wake();
    await dropped;
    if (!shrinks && !this.#isStopped) await opened.file.compact?.();
  }

  async #checkpoint(): Promise<void> {
    const stored = this.#parts.checkpointer.request();
    this.#parts.wake();
    await stored;
  }

  #mustGoOn(): void {
    if (!this.#isStopped) return;
    this.fail(this.#stopReason);
    throw this.#stopReason;
  }

  /** Collects the pages to empty. The queue's turns do the rest, step by step. */
  async #beginEmptying(onProgress: Emptying['onProgress']): Promise<void> {
    assert(this.#emptying === undefined, 'two compactions of one database');
    const pages = await this.#pagesToEmpty();
    let resolve: () => void = () => undefined;
    let reject: (error: unknown) => void = () => undefined;
    const done = new Promise<void>((onDone, onFailed) => {
      resolve = onDone;
      reject = onFailed;
    });
    // Where nobody waits for it any more a failure must not count as unhandled.
    done.catch(() => undefined);
    if (pages.length > 0) this.#emptying = { pages, total: pages.length, done, onProgress, resolve, reject };
  }

  async #pagesToEmpty(): Promise<PageNumber[]> {
    const { opened, snapshots } = this.#parts;
    const { bodies, current } = opened.state;
    const { pageBytes } = bodies.reader.options;
    const pages: PageNumber[] = [];
    const ticket = snapshots.take(current.version);
    try {
      for await (const entries of current.space.entries({})) {
        for (const { key, value } of entries) if (isWorthCompacting(value, pageBytes)) pages.push(key);
      }
    } finally {
      ticket.release();
    }
    return pages;
  }

  /** Whether there are pages to be emptied. */
  get hasWork(): boolean {
    return this.#emptying !== undefined;
  }

  /** Empties some pages. In a turn of the write queue. */
  async step(): Promise<void> {
    const emptying = this.#emptying;
    if (emptying === undefined) return;
    try {
      await this.#parts.repacker.repackPages(emptying.pages.splice(-PAGES_PER_STEP));
    } catch (error) {
      this.fail(error);
      throw error;
    }
    emptying.onProgress(emptying.total - emptying.pages.length, emptying.total);
    if (emptying.pages.length > 0 || this.#emptying !== emptying) return;
    this.#emptying = undefined;
    emptying.resolve();
  }

  /** Ends the compaction that runs; what it has moved stays moved. */
  fail(error: unknown): void {
    const emptying = this.#emptying;
    this.#emptying = undefined;
    emptying?.reject(error);
  }

  /** Ends the compaction that runs early, and begins none any more. Resolves when it has ended. */
  async stop(reason: unknown): Promise<void> {
    this.#isStopped = true;
    this.#stopReason ??= reason;
    this.fail(reason);
    await this.#compaction?.catch(() => undefined);
  }
}
