/**
 * Bounds the open connections of all replications of a server. All runs of one user take at most half of them, and one run at most a
 * third.
 */
import type { Connections, HostPlaces, RequestPlaces, RunEnd } from './host-connections.ts';

interface Holder {
  readonly user: string;
  held: number;
}

interface Waiter {
  readonly holder: Holder;
  goOn(): void;
}

/** Shared places. Waiters are served in the order of arrival; a user who has the maximum is skipped. */
export class FairPlaces {
  readonly #most: number;
  #used = 0;
  readonly #byUser = new Map<string, number>();
  readonly #waiting = new Set<Waiter>();

  constructor(most: number) {
    this.#most = Math.max(2, most);
  }

  get used(): number {
    return this.#used;
  }

  /** Takes a place if one is free. Returns whether it did. */
  tryEnter(holder: Holder): boolean {
    if (!this.#fits(holder)) return false;
    this.#count(holder, 1);
    return true;
  }

  /** Waits for a place. Fails with the signal's reason if it aborts first. */
  enter(holder: Holder, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      if (this.tryEnter(holder)) return resolve();
      const end = () => {
        this.#waiting.delete(waiter);
        signal.removeEventListener('abort', giveUp);
      };
      const giveUp = () => {
        end();
        reject(signal.reason);
      };
      const waiter: Waiter = {
        holder,
        goOn: () => {
          end();
          this.#count(holder, 1);
          resolve();
        },
      };
      this.#waiting.add(waiter);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  leave(holder: Holder): void {
    this.#count(holder, -1);
    for (const waiter of this.#waiting) {
      if (this.#used >= this.#most) return;
      if (this.#fits(waiter.holder)) waiter.goOn();
    }
  }

  #fits({ user, held }: Holder): boolean {
    const free = this.#most - this.#used;
    const ofUser = free - (this.#byUser.get(user) ?? 0);
    return ofUser > 0 && (held === 0 || held < ofUser);
  }

  #count(holder: Holder, change: 1 | -1): void {
    holder.held += change;
    this.#used += change;
    const ofUser = (this.#byUser.get(holder.user) ?? 0) + change;
    if (ofUser > 0) this.#byUser.set(holder.user, ofUser);
    else this.#byUser.delete(holder.user);
  }
}

export class FairConnections implements Connections {
  /** Half of all: each lasts as long as its replication. A run without one polls now and then. */
  readonly #feeds: FairPlaces;
  /** A request to a source may last until one to a target has ended, and never the other way round: so there is no deadlock. */
  readonly #requests: Readonly<Record<RunEnd['side'], FairPlaces>>;

  /** `most`: connections at a time. Attachments that are read while they are written, one for each request to a target, are additional. */
  constructor(most: number) {
    this.#feeds = new FairPlaces(Math.floor(most / 2));
    this.#requests = { source: new FairPlaces(Math.floor(most / 4)), target: new FairPlaces(Math.floor(most / 4)) };
  }

  of({ side, user }: Omit<RunEnd, 'url'>): HostPlaces {
    const feeds = placesFor(this.#feeds, { user, held: 0 });
    return { feeds, requests: placesFor(this.#requests[side], { user, held: 0 }), news: undefined };
  }
}

function placesFor(places: FairPlaces, holder: Holder): RequestPlaces & { tryEnter(): boolean } {
  return {
    tryEnter: () => places.tryEnter(holder),
    enter: (signal) => places.enter(holder, signal),
    leave: () => places.leave(holder),
  };
}
