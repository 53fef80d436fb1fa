import { assert } from '../../../base/shared/assert.ts';
import type { ActiveTasks } from '../../../base/system/active-tasks.ts';
import type { ActiveTask } from '../../../base/system/contract.ts';
import type { PageNumber } from '../../../storage/page-store.ts';
import type { SnapshotRegister } from '../../../storage/paging/snapshot-register.ts';
import type { OpenedFile } from '../state/opened-file.ts';
import { liveBytes } from '../state/state.ts';
import { decodeSpace } from '../state/trees.ts';
import type { Checkpointer } from './checkpointer.ts';
import { isWorthCompacting, type Repacker } from './repacker.ts';
import { Trimmer } from './trimmer.ts';

/** When an automatic compaction is worthwhile: the size of the file in bytes, and its size relative to the live data and to the last compaction. */
interface Worth {
  readonly bytes: number;
  readonly ofLive: number;
  readonly ofCompacted: number;
}

/** Just after the last write, when more may come. */
const IDLE_WORTH: Worth = { bytes: 4 * 2 ** 20, ofLive: 2, ofCompacted: 1.5 };
/** When nothing was written for long. */
const RESTED_WORTH: Worth = { bytes: 16 * 2 ** 20, ofLive: 1.25, ofCompacted: 1.15 };

/** Pages that are examined in one turn of the write queue. */
const PAGES_PER_STEP = 8;
/** On a full medium, bytes of bodies that are moved before the emptied pages are dropped. */
const SCARCE_BYTES = 2 ** 18;

interface CompactorOptions {
  readonly name: string;
  readonly opened: OpenedFile;
  readonly snapshots: SnapshotRegister;
  readonly checkpointer: Checkpointer;
  readonly repacker: Repacker;
  /** Shows compactions; without it they are not shown. */
  readonly tasks: ActiveTasks | undefined;
  /** Whether the file shrinks by itself. */
  readonly shrinks: boolean;
  /** Resolves when everything that was submitted before is committed. */
  barrier(): Promise<void>;
  /** Wakes the write queue. */
  wake(): void;
}

/** The part of a compaction that is done in the turns of the write queue, piece by piece. */
interface TurnWork {
  /** Does a piece; returns whether it was the last. */
  step(): Promise<boolean>;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Compacts a database, one compaction at a time: documents are trimmed (trimmer.ts), and every body page that holds garbage, or is far
 * from full, is emptied, a few at a time between the group commits; a checkpoint stores that, and the pages are dropped; then the file
 * returns the space of free pages to the medium, if it does not do so by itself.
 */
export class Compactor {
  readonly #options: CompactorOptions;
  #compaction: Promise<void> | undefined;
  readonly #trimmer: Trimmer;
  #work: TurnWork | undefined;
  #isStopped = false;
  #stopReason: unknown;
  /** Size of the file after its last compaction. */
  #compactedSize = 0;

  constructor(options: CompactorOptions) {
    this.#options = options;
    this.#trimmer = new Trimmer(options.opened, options.snapshots);
  }

  get isRunning(): boolean {
    return this.#compaction !== undefined;
  }

  /**
   * Whether more than half of the file is garbage; in a database that has rested, more than a fifth. After a compaction, false until the file
   * has grown by half; in a rested one, by some of it.
   */
  async isWorthwhile(hasRested: boolean): Promise<boolean> {
    const { file, state } = this.#options.opened;
    const { bytes, ofLive, ofCompacted } = hasRested ? RESTED_WORTH : IDLE_WORTH;
    const size = await file.size();
    return size > bytes && size > ofLive * liveBytes(state.current) && size > ofCompacted * this.#compactedSize;
  }

  /** Compacts the database, or joins the running compaction. */
  compact(): Promise<void> {
    this.#compaction ??= this.#run().finally(() => {
      this.#compaction = undefined;
    });
    return this.#compaction;
  }

  /** Resolves when the running compaction has ended, even with a failure, or when that much time has passed. */
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

  /** Runs a compaction, shown as a task (docs/http/server.md#active-tasks). All who request one meanwhile share it. */
  async #run(): Promise<void> {
    this.#mustGoOn();
    const { name, opened, tasks } = this.#options;
    const task = tasks?.start('database_compaction', name);
    try {
      await this.#compact(task);
    } finally {
      task?.end();
    }
    this.#compactedSize = await opened.file.size();
  }

  async #compact(task: ActiveTask | undefined): Promise<void> {
    const { checkpointer, opened, repacker, shrinks, barrier, wake } = this.#options;
    await barrier();
    // The barrier may have settled with the last commit before the end; then a checkpoint would never come.
    this.#mustGoOn();
    // Bodies that only the journal holds are in no page that could be emptied.
    await this.#checkpoint();
    const changes = opened.state.current.bySeq.count;
    task?.update(0, changes);
    // Before pages are emptied: the bodies of discarded ancestors then need not be looked for in them.
    for await (const ids of this.#trimmer.documents()) {
      if (ids.length === 0) this.#mustGoOn();
      else await this.#runCooperatively(() => this.#trimmer.trim(ids).then(() => true));
    }
    const pages = await this.#pagesToEmpty();
    const total = pages.length;
    if (total > 0) {
      await this.#runCooperatively(async () => {
        await repacker.repackPages(pages.splice(-PAGES_PER_STEP).sort((left, right) => left - right));
        this.#dropSoonIfScarce();
        // A page counts for its share of the changes, and the work after the last page as one more page.
        task?.update(Math.floor((changes * (total - pages.length)) / (total + 1)), changes);
        return pages.length === 0;
      });
    }
    this.#mustGoOn();
    await this.#checkpoint();
    this.#mustGoOn();
    // Before the file is copied: its copy would be larger by these pages forever.
    const dropped = checkpointer.whenDropped();
    wake();
    await dropped;
    if (!shrinks && !this.#isStopped) await opened.file.compact?.();
  }

  async #checkpoint(): Promise<void> {
    const stored = this.#options.checkpointer.request();
    this.#options.wake();
    await stored;
  }

  #mustGoOn(): void {
    if (!this.#isStopped) return;
    this.fail(this.#stopReason);
    throw this.#stopReason;
  }

  /** Runs one piece after another in the turns of the write queue. */
  async #runCooperatively(step: () => Promise<boolean>): Promise<void> {
    this.#mustGoOn();
    assert(this.#work === undefined, 'two compactions of one database');
    const done = new Promise<void>((resolve, reject) => {
      this.#work = { step, resolve, reject };
    });
    this.#options.wake();
    await done;
    this.#mustGoOn();
  }

  async #pagesToEmpty(): Promise<PageNumber[]> {
    const { opened, snapshots } = this.#options;
    const { bodies, current } = opened.state;
    const { pageBytes } = bodies.reader.options;
    const pages: { readonly page: PageNumber; readonly live: number }[] = [];
    const ticket = snapshots.take(current.version);
    try {
      for await (const entries of current.space.entries({})) {
        for (const { key: page, value } of entries) {
          if (isWorthCompacting(value, pageBytes)) pages.push({ page, live: decodeSpace(value).live });
        }
      }
    } finally {
      ticket.release();
    }
    // Pages are taken from the end. Those without live bytes need no room themselves, and leave theirs to the others.
    if (opened.file.isScarce) pages.sort((left, right) => right.live - left.live);
    return pages.map(({ page }) => page);
  }

  /** Whether there is something to do in a turn of the write queue. */
  get hasWork(): boolean {
    return this.#work !== undefined;
  }

  /** Does some of it. In a turn of the write queue. */
  async step(): Promise<void> {
    const work = this.#work;
    if (work === undefined) return;
    try {
      if (!(await work.step()) || this.#work !== work) return;
    } catch (error) {
      this.fail(error);
      throw error;
    }
    this.#work = undefined;
    work.resolve();
  }

  /** If there is little room, drops the pages that were emptied to make room for new ones. */
  #dropSoonIfScarce(): void {
    const { opened, checkpointer } = this.#options;
    if (!opened.file.isScarce || opened.state.bodies.unstoredBytes < SCARCE_BYTES) return;
    // If it fails, so does the compaction.
    checkpointer.request().catch(() => undefined);
  }

  /** Ends the running compaction; what it has moved stays moved. */
  fail(error: unknown): void {
    const work = this.#work;
    this.#work = undefined;
    work?.reject(error);
  }

  /** Ends the running compaction early, and begins no further one. Resolves when it has ended. */
  async stop(reason: unknown): Promise<void> {
    this.#isStopped = true;
    this.#stopReason ??= reason;
    this.fail(reason);
    await this.#compaction?.catch(() => undefined);
  }
}
