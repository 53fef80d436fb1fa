/**
 * Tells feeds that databases changed: watches of one database, and a feed of all events (created, changed, deleted), which begins
 * with the next event.
 */

import { startBackgroundTimer } from '../../base/shared/clock.ts';
import { nextTurn } from '../../base/shared/turn.ts';
import type { DatabaseEvent, DatabaseEventFeed, DatabaseWatch, WatchOutcome } from './contract.ts';

/** The events of a registry. */
export interface DatabaseEvents {
  /** Returns the function that stops the listening. */
  onEvent(listener: (event: DatabaseEvent) => void): () => void;
  /** See `Registry.watch`. */
  watch?(name: string): () => void;
}

/** All waiting watches, by database name: an event costs nothing to those that wait for another database. */
export class DatabaseWatches {
  readonly #watches = new Map<string, Set<WaitingWatch>>();
  readonly #events: DatabaseEvents;
  #hasEnded = false;

  constructor(events: DatabaseEvents) {
    this.#events = events;
    events.onEvent(({ type, name }) => {
      const watches = [...(this.#watches.get(name) ?? [])];
      if (type === 'deleted') for (const watch of watches) watch.end('deleted');
      else if (watches.length > 0) void noteInTurns(watches);
    });
  }

  /** Begins a watch that notices all events from now on. */
  begin(name: string): DatabaseWatch {
    const watches = this.#watches.get(name) ?? new Set();
    const stop = this.#events.watch?.(name);
    const watch: WaitingWatch = new WaitingWatch(() => {
      if (!watches.delete(watch)) return;
      stop?.();
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

/** A reader that falls this far behind is no longer served: the feed ends, and the reader has to check the state itself. */
const MAX_WAITING = 10_000;

export class WaitingDatabaseEvents implements DatabaseEventFeed {
  /** The events that were not taken yet, oldest first. */
  readonly #waiting: DatabaseEvent[] = [];
  /** For each database whose last waiting event is a change: that event. A second one would add nothing. */
  readonly #changed = new Map<string, DatabaseEvent>();
  readonly #stop: () => void;
  #hasEnded = false;
  #wake: (() => void) | undefined;

  /** `listen` calls back with each event, and returns the function that stops it. */
  constructor(listen: (listener: (event: DatabaseEvent) => void) => () => void) {
    this.#stop = listen((event) => this.#add(event));
  }

  async next(timeoutMs: number): Promise<DatabaseEvent | 'timeout' | 'ended'> {
    if (this.#waiting.length === 0 && !this.#hasEnded) await this.#event(timeoutMs);
    const event = this.#waiting.shift();
    if (event === undefined) return this.#hasEnded ? 'ended' : 'timeout';
    if (this.#changed.get(event.name) === event) this.#changed.delete(event.name);
    return event;
  }

  close(): void {
    this.#hasEnded = true;
    this.#stop();
    this.#wake?.();
  }

  #add(event: DatabaseEvent): void {
    if (event.type === 'updated') {
      if (this.#changed.has(event.name)) return;
      this.#changed.set(event.name, event);
    } else {
      this.#changed.delete(event.name);
    }
    this.#waiting.push(event);
    if (this.#waiting.length >= MAX_WAITING) this.close();
    this.#wake?.();
  }

  #event(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const stopTimer = startBackgroundTimer(timeoutMs, () => this.#wake?.());
      this.#wake = () => {
        stopTimer();
        this.#wake = undefined;
        resolve();
      };
    });
  }
}
