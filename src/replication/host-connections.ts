/**
 * Limits how many connections all replications use together. On a server they use a share of those that the process may open
 * (`FairConnections`); in browsers, a share of those to each host. Browsers have six for each host, shared by pages and workers of an app: the
 * app's own requests must never wait until one of our feeds has something to report.
 */
import { startBackgroundTimer } from '../base/shared/clock.ts';

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
