/** A feed of database events: created, changed, deleted. It begins with the next event. */
import { startBackgroundTimer } from '../../base/shared/clock.ts';
import type { DatabaseEvent, DatabaseEventFeed } from './contract.ts';

/** A reader that falls this far behind is no longer served: the feed ends, and the reader has to check the state itself. */
const MOST_WAITING = 10_000;

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
    if (this.#waiting.length >= MOST_WAITING) this.close();
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
