/** Owners take turns: one that asks for much at once keeps no other one waiting. */
import type { Socket } from 'node:net';
import { heldMs, nextTurn } from '../../base/shared/turn.ts';

/** Waiting items: the owners take turns, and those of one owner keep their order. */
export class TurnQueue<T> {
  /** By owner; the next one to be served is first. */
  readonly #waiting = new Map<string, T[]>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  add(owner: string, item: T): void {
    const queue = this.#waiting.get(owner);
    if (queue === undefined) this.#waiting.set(owner, [item]);
    else queue.push(item);
  }

  take(): T | undefined {
    for (const [owner, queue] of this.#waiting) {
      const item = queue.shift();
      // After all others.
      this.#waiting.delete(owner);
      if (queue.length > 0) this.#waiting.set(owner, queue);
      return item;
    }
    return undefined;
  }
}

/** Work that is in progress. */
interface Place {
  /** How often a look found it while others waited. */
  looks: number;
}

/** How often, while others wait, it looks which work takes long. */
const LOOK_MS = 250;
/** Work that was seen more often than this takes long. */
const MAX_LOOKS = 2;

/**
 * Carries out a limited amount of work of one kind at a time. Work beyond that waits: the owners of the work take turns, so that one owner
 * with hundreds of requests keeps no other one waiting. Work that is still in progress after others waited for 750 ms no longer counts.
 */
export class FairWork {
  readonly #most: number;
  readonly #underWay = new Set<Place>();
  readonly #waiting = new TurnQueue<(place: Place) => void>();
  #looking: ReturnType<typeof setTimeout> | undefined;

  constructor(most: number) {
    this.#most = most;
  }

  async run<T>(work: () => Promise<T>, owner: string): Promise<T> {
    // Work that ends leaves its place to waiting work, so that nothing comes in between.
    const place =
      this.#underWay.size < this.#most && this.#waiting.isEmpty ? this.#newPlace() : await this.#wait(owner);
    try {
      return await work();
    } finally {
      this.#underWay.delete(place);
      this.#serve();
    }
  }

  #newPlace(): Place {
    const place = { looks: 0 };
    this.#underWay.add(place);
    return place;
  }

  #wait(owner: string): Promise<Place> {
    return new Promise((resolve) => {
      this.#waiting.add(owner, resolve);
      this.#looking ??= setTimeout(() => this.#look(), LOOK_MS);
    });
  }

  #serve(): void {
    while (!this.#waiting.isEmpty && this.#underWay.size < this.#most) this.#waiting.take()?.(this.#newPlace());
  }

  #look(): void {
    for (const place of this.#underWay) {
      place.looks += 1;
      if (place.looks > MAX_LOOKS) this.#underWay.delete(place);
    }
    this.#serve();
    this.#looking = this.#waiting.isEmpty ? undefined : setTimeout(() => this.#look(), LOOK_MS);
  }
}

/** Requests that arrive in a turn of the thread begin in it until it has lasted this many milliseconds; the others wait for later turns. */
const FULL_TURN_MS = 10;

/** Returns whether the turn has no room for another request, or for the response to one. */
export function isFullTurn(): boolean {
  return heldMs() >= FULL_TURN_MS;
}

/** Resolves in the same turn of the event loop, when all promises that others wait for, and that are settled, have been handled. */
export function promisesHandled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

/** Begins requests in turns, so that a thousand that arrive at once don't hold the thread. Among those that wait, addresses take turns. */
export class Entrance {
  /** By address. */
  readonly #waiting = new TurnQueue<() => void>();
  #isServing = false;

  /** Calls `begin` at once, or in a later turn unless the connection has ended by then. */
  enter(socket: Pick<Socket, 'remoteAddress' | 'destroyed'>, begin: () => void): void {
    if (this.#waiting.isEmpty && !isFullTurn()) {
      begin();
      return;
    }
    this.#waiting.add(socket.remoteAddress ?? '', () => {
      if (!socket.destroyed) begin();
    });
    if (!this.#isServing) void this.#serve();
  }

  async #serve(): Promise<void> {
    this.#isServing = true;
    while (!this.#waiting.isEmpty) {
      await nextTurn();
      do {
        this.#waiting.take()?.();
        // Most of the work for a request is done by promises.
        await promisesHandled();
      } while (!this.#waiting.isEmpty && !isFullTurn());
    }
    this.#isServing = false;
  }
}
