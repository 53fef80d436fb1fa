import type { Clock } from '../../../base/shared/clock.ts';
import { TimeSlice } from '../../../base/shared/turn.ts';
import type { ReplacedNode } from '../../../storage/btree/contract.ts';
import type { ViewSettings } from '../settings.ts';
import { type IndexState, unstoredBytes } from '../trees/index-state.ts';
import type { IndexFile, IndexIdentity } from './index-file.ts';

/** At this multiple of `dirtyBytes` an update waits for the checkpoint. */
const OVERDUE_FACTOR = 2;
/** After each published state, a checkpoint is made once this part of `checkpointMs` has passed. */
const PUBLISHED_DIVISOR = 3;
/** The first checkpoint of an update is due after this part of `checkpointMs`. */
const FIRST_DIVISOR = 2;
/** Between two checkpoints there is at least this multiple of the time that the last one took. */
const PAUSE_FACTOR = 4;

interface CheckpointerOptions {
  /** Absent for an index that is in memory only. */
  readonly file: IndexFile | undefined;
  readonly settings: ViewSettings;
  readonly clock: Clock;
  current(): IndexState;
  /** Called with the failure of a checkpoint that no one waits for. */
  onFailure(error: unknown): void;
}

/**
 * Decides when an index is stored, and stores it. One checkpoint runs at a time, concurrently with updates and reads: it stores the
 * state that was current when it began.
 */
export class Checkpointer {
  /** Written into the file's head. Nothing is stored before it is set. */
  identity: IndexIdentity | undefined;
  readonly #options: CheckpointerOptions;
  #replaced: ReplacedNode[] = [];
  #storedState: IndexState | undefined;
  /** The checkpoint, or the exclusive work, that runs. */
  #running: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #pausedSince = 0;
  /** Whether nothing of the present update has been stored yet. */
  #isFirst = true;
  #tookMs = 0;
  #hasEnded = false;

  constructor(options: CheckpointerOptions) {
    this.#options = options;
  }

  /** Sets the state that was read from the file, and need not be stored. */
  setStored(state: IndexState): void {
    this.#storedState = state;
  }

  /** An update begins: the time to its first checkpoint runs from now on. */
  beginUpdate(): void {
    this.#pausedSince = this.#options.clock.monotonic();
    this.#isFirst = true;
  }

  /** Adds nodes that later states do not have. The next checkpoint frees their pages. */
  addReplaced(nodes: readonly ReplacedNode[]): void {
    if (this.#options.file !== undefined) for (const node of nodes) this.#replaced.push(node);
  }

  /** Schedules a checkpoint after `idleMs`, unless one is already scheduled. */
  schedule(): void {
    const { file, settings } = this.#options;
    if (file === undefined || this.#timer !== undefined || this.#hasEnded) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.run().catch((error: unknown) => this.#options.onFailure(error));
    }, settings.idleMs);
  }

  /** To be called when a reader has released its state: pages that it kept from being dropped may be dropped now. */
  onReaderReleased(): void {
    if (this.#options.file?.hasDroppable) this.schedule();
  }

  /** Returns whether an update has run for so long that it should publish a state and have it stored. */
  get isDueByTime(): boolean {
    const { checkpointMs } = this.#options.settings;
    return this.#hasPaused(this.#isFirst ? checkpointMs / FIRST_DIVISOR : checkpointMs);
  }

  #hasPaused(ms: number): boolean {
    const { file, clock } = this.#options;
    if (file === undefined || this.#running !== undefined) return false;
    return clock.monotonic() - this.#pausedSince >= Math.max(ms, PAUSE_FACTOR * this.#tookMs);
  }

  /**
   * To be called when an update has published a state: begins a checkpoint if one is due. Waits for it if too many nodes
   * are in memory, so that the update can't outrun it.
   */
  async runIfDue(): Promise<void> {
    const { file, settings, current } = this.#options;
    if (file === undefined) return;
    const load = unstoredBytes(current()) / settings.dirtyBytes;
    if (load >= OVERDUE_FACTOR) await this.run();
    else if (this.#running === undefined && (load >= 1 || this.#hasPaused(settings.checkpointMs / PUBLISHED_DIVISOR))) {
      this.#begin().catch((error: unknown) => this.#options.onFailure(error));
    }
  }

  /** Resolves when the present state is stored. */
  async run(): Promise<void> {
    while (this.#running !== undefined) await this.#running.catch(() => undefined);
    await this.#begin();
  }

  #begin(): Promise<void> {
    const storing = this.#store().finally(() => {
      this.#pausedSince = this.#options.clock.monotonic();
    });
    return this.#runAlone(storing);
  }

  /**
   * Runs work that replaces the present state with an unrelated one. No checkpoint runs at the same time: it would change which
   * pages the former state has while these are collected, and its head would be written after the replacement.
   */
  async exclusively(work: () => Promise<void>): Promise<void> {
    while (this.#running !== undefined) await this.#running.catch(() => undefined);
    await this.#runAlone(work());
  }

  #runAlone(work: Promise<void>): Promise<void> {
    this.#running = work.finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #store(): Promise<void> {
    const { file, current, clock, settings } = this.#options;
    const state = current();
    const { identity } = this;
    if (file === undefined || identity === undefined || this.#hasEnded) return;
    const began = clock.monotonic();
    const replaced = this.#replaced;
    if (state !== this.#storedState || replaced.length > 0) {
      this.#replaced = [];
      try {
        await file.checkpoint(state, identity, replaced, new TimeSlice(settings.turnMs));
      } catch (error) {
        this.#replaced = [...replaced, ...this.#replaced];
        throw error;
      }
      this.#storedState = state;
      this.#isFirst = false;
      this.#tookMs = clock.monotonic() - began;
    }
    await file.dropFree();
  }

  /** Stores the present state, and nothing after it. */
  async finish(): Promise<void> {
    clearTimeout(this.#timer);
    await this.run();
    this.#hasEnded = true;
    clearTimeout(this.#timer);
  }

  /** Stores nothing more. */
  async abandon(): Promise<void> {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    await this.#running?.catch(() => undefined);
  }
}
