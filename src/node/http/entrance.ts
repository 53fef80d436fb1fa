import type { Socket } from 'node:net';
import { heldMs, nextTurn } from '../../base/shared/turn.ts';

/** Requests that arrive in a turn of the thread begin in it until it has lasted this many milliseconds; the others wait for later turns. */
const FULL_TURN_MS = 10;

/** Begins requests in turns, so that a thousand that arrive at once don't hold the thread. Among those that wait, addresses take turns. */
export class Entrance {
  /** By address; the next one to be served is first. */
  readonly #waiting = new Map<string, (() => void)[]>();

  /** Calls `begin` at once, or in a later turn unless the connection has ended by then. */
  enter(socket: Socket, begin: () => void): void {
    if (this.#waiting.size === 0 && heldMs() < FULL_TURN_MS) begin();
    else this.#wait(socket, begin);
  }

  #wait(socket: Socket, begin: () => void): void {
    const from = socket.remoteAddress ?? '';
    const beginLate = () => {
      if (!socket.destroyed) begin();
    };
    const queue = this.#waiting.get(from);
    if (queue !== undefined) queue.push(beginLate);
    else this.#waiting.set(from, [beginLate]);
    if (this.#waiting.size === 1 && queue === undefined) void this.#serve();
  }

  async #serve(): Promise<void> {
    while (this.#waiting.size > 0) {
      await nextTurn();
      do this.#next()?.();
      while (this.#waiting.size > 0 && heldMs() < FULL_TURN_MS);
    }
  }

  #next(): (() => void) | undefined {
    for (const [address, queue] of this.#waiting) {
      const begin = queue.shift();
      // After all others.
      this.#waiting.delete(address);
      if (queue.length > 0) this.#waiting.set(address, queue);
      return begin;
    }
    return undefined;
  }
}
