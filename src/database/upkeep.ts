import { isDatabaseError } from '../errors/database-error.ts';
import type { ActiveTasks } from '../system/active-tasks.ts';
import type { ActiveTask, Log } from '../system/contract.ts';
import type { Checkpointer } from './checkpointer.ts';
import type { Compactor } from './compactor.ts';
import { BarrierJob } from './jobs.ts';
import { liveBytes } from './state.ts';
import type { DatabaseCore, Writer } from './writer.ts';

/** Files below this size are not worth compacting by themselves. */
const MIN_COMPACTED_BYTES = 4 * 2 ** 20;

export interface UpkeepParts {
  readonly core: DatabaseCore;
  readonly compactor: Compactor;
  readonly checkpointer: Checkpointer;
  readonly writer: Writer;
}

export interface UpkeepSettings {
  readonly name: string;
  readonly log: Log;
  /** Milliseconds without a commit after which a database counts as idle. */
  readonly idleMs: number;
  /** Whether the file gives space back by itself. */
  readonly shrinks: boolean;
  /** Where compactions are shown. */
  readonly tasks: ActiveTasks | undefined;
}

/**
 * What is done for a database without being asked: a checkpoint when it is idle, and a compaction when more than half
 * of its file is garbage; and the compaction that is asked for.
 */
export class Upkeep {
  readonly #parts: UpkeepParts;
  readonly #settings: UpkeepSettings;
  #compaction: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #ended = false;
  #endReason: unknown;
  /** Size of the file after its last compaction: it is not compacted again before it has grown by half. */
  #compactedSize = 0;

  constructor(parts: UpkeepParts, settings: UpkeepSettings) {
    this.#parts = parts;
    this.#settings = settings;
  }

  get compactRunning(): boolean {
    return this.#compaction !== undefined;
  }

  noteCommit(): void {
    clearTimeout(this.#timer);
    if (this.#ended) return;
    this.#timer = setTimeout(() => void this.#rest(), this.#settings.idleMs);
  }

  /** Nothing is begun any more, and a compaction ends early. Resolves when it has. */
  async end(reason: unknown): Promise<void> {
    this.#ended = true;
    this.#endReason ??= reason;
    clearTimeout(this.#timer);
    this.#parts.compactor.fail(reason);
    await this.#compaction?.catch(() => undefined);
  }

  /** Stores everything that only the journal holds. */
  async checkpoint(): Promise<void> {
    const stored = this.#parts.checkpointer.want();
    this.#parts.writer.wake();
    await stored;
  }

  async #rest(): Promise<void> {
    try {
      await this.checkpoint();
      if (!this.#ended && (await this.#isMostlyGarbage())) await this.compact();
    } catch (error) {
      if (this.#ended || isDatabaseError(error, 'storage_full')) return;
      this.#settings.log.error(`the upkeep of ${this.#settings.name} failed`, error);
    }
  }

  async #isMostlyGarbage(): Promise<boolean> {
    const { file, state } = this.#parts.core;
    const size = await file.size();
    return size > MIN_COMPACTED_BYTES && size > 2 * liveBytes(state) && size > 1.5 * this.#compactedSize;
  }

  /** Compacts the database, or joins the compaction that runs. */
  compact(): Promise<void> {
    this.#compaction ??= this.#compactAll().finally(() => {
      this.#compaction = undefined;
    });
    return this.#compaction;
  }

  /** Shown as a task (interface.md 2.11), whoever asked for it. */
  async #compactAll(): Promise<void> {
    const task = this.#settings.tasks?.start('database_compaction', this.#settings.name);
    try {
      await this.#compactWith(task);
    } finally {
      task?.end();
    }
  }

  async #compactWith(task: ActiveTask | undefined): Promise<void> {
    const { checkpointer, core, compactor, writer } = this.#parts;
    const barrier = new BarrierJob('relaxed');
    writer.submit(barrier);
    await barrier.promise;
    // Bodies that only the journal holds are in no page that could be emptied.
    await this.checkpoint();
    const changes = core.state.bySeq.count;
    task?.update(0, changes);
    // A page counts for its share of the changes, and what comes after the last page as another one.
    await compactor.start((done, total) => task?.update(Math.floor((changes * done) / (total + 1)), changes));
    this.#mustGoOn();
    writer.wake();
    await compactor.done;
    await this.checkpoint();
    this.#mustGoOn();
    // Before the file is copied: its copy would be larger by that for ever.
    const dropped = checkpointer.dropped();
    writer.wake();
    await dropped;
    if (!this.#settings.shrinks && !this.#ended) await core.file.compact?.();
    this.#compactedSize = await core.file.size();
  }

  #mustGoOn(): void {
    if (!this.#ended) return;
    this.#parts.compactor.fail(this.#endReason);
    throw this.#endReason;
  }
}
