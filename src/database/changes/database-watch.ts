/** Tells feeds that their database changed. */
import { startBackgroundTimer } from '../../base/shared/clock.ts';
import { nextTurn } from '../../base/shared/turn.ts';
import type { DatabaseEvent, DatabaseWatch, WatchOutcome } from './contract.ts';

/** The events of a registry. */
export interface DatabaseEvents {
  /** Returns the function that stops the listening. */
  onEvent(listener: (event: DatabaseEvent) => void): () => void;
}

/** All waiting watches, by database name: an event costs nothing to those that wait for another database. */
export class DatabaseWatches {
  readonly #watches = new Map<string, Set<WaitingWatch>>();
  #hasEnded = false;

  constructor(events: DatabaseEvents) {
    events.onEvent(({ type, name }) => {
      const watches = [...(this.#watches.get(name) ?? [])];
      if (type === 'deleted') for (const watch of watches) watch.end('deleted');
      else if (watches.length > 0) void noteInTurns(watches);
    });
  }

  /** Begins a watch that notices all events from now on. */
  begin(name: string): DatabaseWatch {
    const watches = this.#watches.get(name) ?? new Set();
    const watch: WaitingWatch = new WaitingWatch(() => {
      watches.delete(watch);
      if (watches.size === 0 && this.#watches.get(name) === watches) this.#watches.delete(name);
    });
    watches.add(watch);
    this.#watches.set(name, watches);
    if (this.#hasEnded) watch.end();
    return watch;
  }

  /** The number of watches. */
  get count(): number {
    let count = 0;
    for (const watches of this.#watches.values()) count += watches.size;
    return count;
  }

  /** Ends all watches, and those that are begun from now on. */
  end(): void {
    this.#hasEnded = true;
    for (const watches of [...this.#watches.values()]) for (const watch of [...watches]) watch.end();
  }
}

class WaitingWatch implements DatabaseWatch {
  readonly #forget: () => void;
  #hasChanged = false;
  /** How the watch ended. */
  #end: 'deleted' | 'ended' | undefined;
  #wake: (() => void) | undefined;

  constructor(forget: () => void) {
    this.#forget = forget;
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  note(): void {
    this.#hasChanged = true;
  }

  wake(): void {
    if (this.#hasChanged) this.#wake?.();
  }

  end(how: 'deleted' | 'ended' = 'ended'): void {
    this.#end ??= how;
    this.#forget();
    this.#wake?.();
  }

  async next(timeoutMs: number | undefined): Promise<WatchOutcome> {
    if (!this.#hasChanged && this.#end === undefined) await this.#event(timeoutMs);
    if (this.#end !== undefined) return this.#end;
    const outcome = this.#hasChanged ? 'changed' : 'timeout';
    this.#hasChanged = false;
    return outcome;
  }

  #event(timeoutMs: number | undefined): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        stopTimer();
        this.#wake = undefined;
        resolve();
      };
      const stopTimer = timeoutMs === undefined ? () => undefined : startBackgroundTimer(timeoutMs, wake);
      this.#wake = wake;
    });
  }
}

/** The work that feeds do in the turn in which they are woken holds the thread: at most this many are woken at once. */
const WOKEN_AT_ONCE = 16;

/** Notes the change in all watches at once. Wakes them after the writer has its response, and lets other tasks run in between. */
async function noteInTurns(watches: readonly WaitingWatch[]): Promise<void> {
  for (const watch of watches) watch.note();
  for (const [index, watch] of watches.entries()) {
    if (index % WOKEN_AT_ONCE === 0) await nextTurn();
    watch.wake();
  }
}
