import type { SnapshotRegister } from '../../paging/snapshot-register.ts';
import { assert } from '../../shared/assert.ts';
import type { PageNumber } from '../../storage/page-store.ts';
import type { DatabaseCore } from '../writing/writer.ts';
import { isWorthCompacting, type Repacker } from './repacker.ts';

/** Pages that are looked at in one of the writer's turns. */
const PAGES_PER_STEP = 8;

/** Told how many of the pages to empty were looked at. */
export type CompactionProgress = (done: number, total: number) => void;

interface Running {
  /** Those that are still to be looked at. */
  readonly pages: PageNumber[];
  readonly total: number;
  readonly onProgress: CompactionProgress;
  readonly promise: Promise<void>;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Compaction: every body page that holds garbage, or is far from full, is emptied a few at a time between the group commits; then a
 * checkpoint makes that last. Giving space back to the medium afterwards is the file's own matter.
 */
export class Compactor {
  readonly #core: DatabaseCore;
  readonly #repacker: Repacker;
  readonly #snapshots: SnapshotRegister;
  #running: Running | undefined;

  constructor(core: DatabaseCore, repacker: Repacker, snapshots: SnapshotRegister) {
    this.#core = core;
    this.#snapshots = snapshots;
    this.#repacker = repacker;
  }

  get hasWork(): boolean {
    return this.#running !== undefined;
  }

  /** Collects the pages to empty. The writer does the rest, step by step; resolves when the last one is moved. */
  async start(onProgress: CompactionProgress): Promise<void> {
    assert(this.#running === undefined, 'two compactions of one database');
    const pages: PageNumber[] = [];
    let resolve: () => void = () => undefined;
    let reject: (error: unknown) => void = () => undefined;
    const promise = new Promise<void>((onDone, onFailed) => {
      resolve = onDone;
      reject = onFailed;
    });
    // Whoever waits asks for `done`; without anyone a failure is no defect.
    promise.catch(() => undefined);
    const { bodies, state } = this.#core;
    const ticket = this.#snapshots.take(state.version);
    try {
      for await (const entries of state.space.entries({})) {
        for (const { key, value } of entries) if (isWorthCompacting(value, bodies.pageBytes)) pages.push(key);
      }
    } finally {
      ticket.release();
    }
    if (pages.length > 0) this.#running = { pages, total: pages.length, onProgress, promise, resolve, reject };
  }

  /** The end of the compaction that runs. */
  get done(): Promise<void> {
    return this.#running?.promise ?? Promise.resolve();
  }

  /** Ends the compaction that runs; what it has moved stays moved. */
  fail(error: unknown): void {
    const running = this.#running;
    this.#running = undefined;
    running?.reject(error);
  }

  async step(): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    try {
      await this.#repacker.repackPages(running.pages.splice(-PAGES_PER_STEP));
    } catch (error) {
      this.fail(error);
      throw error;
    }
    running.onProgress(running.total - running.pages.length, running.total);
    if (running.pages.length > 0 || this.#running !== running) return;
    this.#running = undefined;
    running.resolve();
  }
}
