import { isDatabaseError } from '../../errors/database-error.ts';
import type { SnapshotRegister } from '../../paging/snapshot-register.ts';
import { nextTurn } from '../../shared/turn.ts';
import type { ActiveTasks } from '../../system/active-tasks.ts';
import type { Log } from '../../system/contract.ts';
import { liveBytes } from '../state/state.ts';
import type { DatabaseCore, Writer } from '../writing/writer.ts';
import type { Checkpointer } from './checkpointer.ts';
import { Compaction } from './compaction.ts';
import type { EmptiedPages } from './emptied-pages.ts';

/** Files below this size are not worth compacting by themselves. */
const MIN_COMPACTED_BYTES = 4 * 2 ** 20;

export interface UpkeepParts {
  readonly core: DatabaseCore;
  readonly emptied: EmptiedPages;
  readonly snapshots: SnapshotRegister;
  /** Where compactions are shown; without it they are not. */
  readonly tasks: ActiveTasks | undefined;
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
}

/**
 * What is done for a database without being asked: a checkpoint when it is idle, and a compaction when more than half
 * of its file is garbage; and the compaction that is asked for.
 */
export class Upkeep {
  readonly #parts: UpkeepParts;
  readonly #settings: UpkeepSettings;
  #compaction: Promise<void> | undefined;
  /** What does the compactions, since the first one. */
  #run: Compaction | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastCommit = 0;
  #isWaking = false;
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
    this.#lastCommit = performance.now();
    if (!this.#ended) this.#timer ??= this.#wait(this.#settings.idleMs);
  }

  /** A reader let go: there may be garbage to drop by now. The reader's answer leaves first, since nobody waits for that. */
  noteRelease(): void {
    if (this.#isWaking || !this.#hasWork) return;
    this.#isWaking = true;
    void nextTurn().then(() => {
      this.#isWaking = false;
      if (this.#hasWork) this.#parts.writer.wake();
    });
  }

  get #hasWork(): boolean {
    return !this.#ended && this.#parts.checkpointer.hasWork;
  }

  /** One timer for many commits: in browsers setting one takes as long as a good part of a commit. */
  #wait(ms: number): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      const left = this.#lastCommit + this.#settings.idleMs - performance.now();
      this.#timer = left > 1 ? this.#wait(left) : undefined;
      if (this.#timer === undefined) void this.#rest();
    }, ms);
  }

  /** Nothing is begun any more, and a compaction ends early. Resolves when it has. */
  async end(reason: unknown): Promise<void> {
    this.#ended = true;
    this.#endReason ??= reason;
    clearTimeout(this.#timer);
    this.#run?.end(reason);
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

  async #compactAll(): Promise<void> {
    if (this.#ended) throw this.#endReason;
    this.#run ??= new Compaction(this.#parts, this.#settings, () => this.checkpoint());
    this.#compactedSize = await this.#run.run();
  }
}
