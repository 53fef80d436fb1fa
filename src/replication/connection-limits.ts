/**
 * Limits how many connections all replications use together. On a server they use a share of those that the process may open
 * (`FairConnections`); in browsers, a share of those to each host. Browsers have six for each host, shared by pages and workers of an app: the
 * app's own requests must never wait until one of our feeds has something to report.
 */
import { startBackgroundTimer } from '../base/shared/background-timer.ts';

/** Feeds, each of which keeps a connection while it lasts: one of a database, and one that reports on all others. */
const MOST_FEEDS = 2;
/** Requests that get a response and end. */
const MOST_REQUESTS = 3;

/**
 * After a longer wait a request goes on without a place: a request may hold one while it waits for another request, which could deadlock.
 */
const LONGEST_WAIT_MS = 2_000;

/** A number of places, granted in the order of the requests. */
export class Semaphore {
  /** Below 0 if some went on without a place. */
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Takes a place if one is free, with `spare` more. Returns whether it did. A caller that gets one has to `leave` it. */
  tryEnter(spare = 0): boolean {
    if (this.#free <= spare) return false;
    this.#free--;
    return true;
  }

  /** Waits for a place, for a limited time. Call `leave` afterwards. Fails with the signal's reason if it aborts first. */
  enter(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      if (this.tryEnter()) return resolve();
      const end = () => {
        this.#waiting.delete(goOn);
        stop();
        signal.removeEventListener('abort', giveUp);
      };
      const goOn = () => {
        end();
        this.#free--;
        resolve();
      };
      const giveUp = () => {
        end();
        reject(signal.reason);
      };
      const stop = startBackgroundTimer(LONGEST_WAIT_MS, goOn);
      this.#waiting.add(goOn);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  leave(): void {
    this.#free++;
    const [next] = this.#waiting;
    if (this.#free > 0) next?.();
  }
}

/** `updated`: there may be new changes; `replaced`: it was created or deleted; `ended`: there is no reader any more. */
export type NewsOfDatabase = 'updated' | 'replaced' | 'ended';

/** A server's news of all its databases (`_db_updates`), for replications that have no feed of their own. One of them reads it for all. */
export class DatabaseNews {
  #isRead = false;
  readonly #waiting = new Set<{ readonly name: string; readonly take: (news: NewsOfDatabase) => void }>();

  /** Whether there is a reader. */
  get isRead(): boolean {
    return this.#isRead;
  }

  /** A reader begins, and has to report when it ends. */
  begin(): void {
    this.#isRead = true;
  }

  end(): void {
    this.#isRead = false;
    this.tell('ended');
  }

  /** `name`: undefined for all, since it is unknown what happened before. */
  tell(news: NewsOfDatabase, name?: string): void {
    const told = [...this.#waiting].filter((one) => name === undefined || one.name === name);
    for (const one of told) {
      this.#waiting.delete(one);
      one.take(news);
    }
  }

  /** Calls `take` once, with the next news of the database of that name. Returns a function that ends the wait. */
  next(name: string, take: (news: NewsOfDatabase) => void): () => void {
    const waiting = { name, take };
    this.#waiting.add(waiting);
    return () => this.#waiting.delete(waiting);
  }
}

export interface FeedPlaces {
  /** Takes a place if one is free, with `spare` more. Returns whether it did. A caller that gets one has to `leave` it. */
  tryEnter(spare?: number): boolean;
  leave(): void;
}

export interface RequestPlaces {
  /** Waits for a place. Call `leave` afterwards. Fails with the signal's reason if it aborts first. */
  enter(signal: AbortSignal): Promise<void>;
  leave(): void;
}

export interface HostPlaces {
  readonly feeds: FeedPlaces;
  readonly requests: RequestPlaces;
  /** News of the server at that address: a host may have several, below different paths. Undefined if users may not share the news. */
  readonly news: DatabaseNews | undefined;
}

/** One end of one run of a replication. */
export interface RunEnd {
  /** The absolute address of the database. */
  readonly url: string;
  readonly side: 'source' | 'target';
  /** The user of the run: users share the places. */
  readonly user: string;
}

export interface Connections {
  of(end: RunEnd): HostPlaces;
}

export class HostConnections implements Connections {
  readonly #hosts = new Map<string, Pick<HostPlaces, 'feeds' | 'requests'>>();
  readonly #news = new Map<string, DatabaseNews>();

  of({ url }: Pick<RunEnd, 'url'>): HostPlaces {
    const { origin } = new URL(url);
    const places = this.#hosts.get(origin) ?? {
      feeds: new Semaphore(MOST_FEEDS),
      requests: new Semaphore(MOST_REQUESTS),
    };
    this.#hosts.set(origin, places);
    const server = url.slice(0, url.lastIndexOf('/'));
    const news = this.#news.get(server) ?? new DatabaseNews();
    this.#news.set(server, news);
    return { ...places, news };
  }
}


/**
 * Bounds the open connections of all replications of a server. All runs of one user take at most half of them, and one run at most a
 * third.
 */

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
