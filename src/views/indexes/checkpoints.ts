import type { ReplacedNode } from '../../btree/contract.ts';
import type { Clock } from '../../shared/clock.ts';
import { Pace } from '../../shared/turn.ts';
import type { ViewSettings } from '../settings.ts';
import type { IndexFile, IndexIdentity } from './index-file.ts';
import { type IndexState, unstoredBytes } from './index-state.ts';

/** Beyond this multiple of its bound for nodes in memory a build waits for the checkpoint. */
const OVERDUE = 2;
/** A portion that was worked in anyway is stored after this part of the time after which one is made for it. */
const EARLIER = 3;
/** The first checkpoint of a build is due after this part of the time. */
const FIRST = 2;
/** Checkpoints of a long build pause for this many times as long as the last one took. */
const PAUSE = 4;

export interface CheckpointsParts {
  /** Absent for an index that is in memory alone. */
  readonly file: IndexFile | undefined;
  readonly settings: ViewSettings;
  readonly clock: Clock;
  current(): IndexState;
  /** Told of failures that nobody waits for. */
  onFailure(error: unknown): void;
}

/**
 * When an index is stored. One checkpoint runs at a time, beside updates and reads: it stores the state of the moment at
 * which it began.
 */
export class Checkpoints {
  /** What the file says of itself. Nothing is stored before this is set. */
  identity: IndexIdentity | undefined;
  readonly #parts: CheckpointsParts;
  #replaced: ReplacedNode[] = [];
  #storedState: IndexState | undefined;
  #running: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #pausedSince = 0;
  /** Whether the build under way has not been stored yet. */
  #isFirst = true;
  #tookMs = 0;
  #hasEnded = false;

  constructor(parts: CheckpointsParts) {
    this.#parts = parts;
  }

  /** The state that the file leads to, as it was opened. */
  noteOpened(state: IndexState): void {
    this.#storedState = state;
  }

  /** A build begins; its first checkpoint is due some time from now. */
  noteBegin(): void {
    this.#pausedSince = this.#parts.clock.monotonic();
    this.#isFirst = true;
  }

  /** Nodes that states from now on don't have. */
  noteReplaced(nodes: readonly ReplacedNode[]): void {
    if (this.#parts.file !== undefined) for (const node of nodes) this.#replaced.push(node);
  }

  /** What is not stored is to be, before long. */
  noteUpdate(): void {
    const { file, settings } = this.#parts;
    if (file === undefined || this.#timer !== undefined || this.#hasEnded) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.run().catch((error: unknown) => this.#parts.onFailure(error));
    }, settings.idleMs);
  }

  /** A reader let go of a state; pages that it held may be dropped. */
  noteRelease(): void {
    if (this.#parts.file?.hasDroppable) this.noteUpdate();
  }

  /** In a long build: whether it is time to make sure of what was done. */
  get isDueByTime(): boolean {
    const { checkpointMs } = this.#parts.settings;
    return this.#hasPaused(this.#isFirst ? checkpointMs / FIRST : checkpointMs);
  }

  #hasPaused(ms: number): boolean {
    const { file, clock } = this.#parts;
    if (file === undefined || this.#running !== undefined) return false;
    return clock.monotonic() - this.#pausedSince >= Math.max(ms, PAUSE * this.#tookMs);
  }

  /** In a long build: begins a checkpoint where one is due, and waits for it where too much has come together. */
  async keepUp(): Promise<void> {
    const { file, settings, current } = this.#parts;
    if (file === undefined) return;
    const load = unstoredBytes(current()) / settings.dirtyBytes;
    if (load >= OVERDUE) await this.run();
    else if (this.#running === undefined && (load >= 1 || this.#hasPaused(settings.checkpointMs / EARLIER))) {
      this.#begin().catch((error: unknown) => this.#parts.onFailure(error));
    }
  }

  /** Resolves when the present state is stored. */
  async run(): Promise<void> {
    while (this.#running !== undefined) await this.#running.catch(() => undefined);
    await this.#begin();
  }

  #begin(): Promise<void> {
    const storing = this.#store().finally(() => {
      this.#pausedSince = this.#parts.clock.monotonic();
    });
    return this.#alone(storing);
  }

  /**
   * Runs work that puts another state in the place of the present one. Nothing is stored meanwhile, so that the pages of the
   * former state can be told, and no head is on its way that knows nothing of the other's.
   */
  async betweenStores(work: () => Promise<void>): Promise<void> {
    while (this.#running !== undefined) await this.#running.catch(() => undefined);
    await this.#alone(work());
  }

  #alone(work: Promise<void>): Promise<void> {
    this.#running = work.finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #store(): Promise<void> {
    const { file, current, clock, settings } = this.#parts;
    const state = current();
    const { identity } = this;
    if (file === undefined || identity === undefined || this.#hasEnded) return;
    const began = clock.monotonic();
    const replaced = this.#replaced;
    if (state !== this.#storedState || replaced.length > 0) {
      this.#replaced = [];
      try {
        await file.checkpoint(state, identity, replaced, new Pace(settings.turnMs));
      } catch (error) {
        this.#replaced = [...replaced, ...this.#replaced];
        throw error;
      }
      this.#storedState = state;
      this.#isFirst = false;
      this.#tookMs = clock.monotonic() - began;
    }
    await file.dropGarbage();
  }

  /** Stores what is left to be, and nothing after it. */
  async end(): Promise<void> {
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
