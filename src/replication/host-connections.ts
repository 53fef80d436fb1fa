/**
 * What all replications together take of the connections there are: on a server, of those that a process may have open at all
 * (`FairConnections`); in browsers, of those to a host. Browsers have six for each host, for pages and workers of an app alike: the
 * app's own requests must never wait until a feed of ours has something to tell.
 */
import { startBackgroundTimer } from '../base/shared/background-timer.ts';

/** Feeds, each of which keeps a connection for as long as it lasts: one of a database, and one that tells of all others. */
const MOST_FEEDS = 2;
/** Requests that are answered and done. */
const MOST_REQUESTS = 3;

/**
 * Who waits longer goes on without a place: a request may hold one while it waits for another request, so that there might be no end of it.
 */
const LONGEST_WAIT_MS = 2_000;

/** A number of places, in the order in which they are asked for. */
export class Semaphore {
  /** Below 0 where some went on without. */
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Whether there was a place at once, and `spare` more. Who gets one has to `leave` it. */
  tryEnter(spare = 0): boolean {
    if (this.#free <= spare) return false;
    this.#free--;
    return true;
  }

  /** Waits for a place, for a while. Who was let go on has to `leave`. Fails with the signal's reason where that comes before. */
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

/** `updated`: there may be new changes; `replaced`: it was created or deleted; `ended`: nobody reads any more. */
export type NewsOfDatabase = 'updated' | 'replaced' | 'ended';

/** What a server tells of all of its databases (`_db_updates`), for replications that have no feed of their own. One of them reads it for all. */
export class DatabaseNews {
  #isRead = false;
  readonly #waiting = new Set<{ readonly name: string; readonly take: (news: NewsOfDatabase) => void }>();

  /** Whether somebody reads. */
  get isRead(): boolean {
    return this.#isRead;
  }

  /** Somebody reads from now on, and has to say when that ends. */
  begin(): void {
    this.#isRead = true;
  }

  end(): void {
    this.#isRead = false;
    this.tell('ended');
  }

  /** `name`: undefined for all, since nobody knows what happened before. */
  tell(news: NewsOfDatabase, name?: string): void {
    const told = [...this.#waiting].filter((one) => name === undefined || one.name === name);
    for (const one of told) {
      this.#waiting.delete(one);
      one.take(news);
    }
  }

  /** Calls `take` once, with what comes next for the database of that name. Gives what ends the wait. */
  next(name: string, take: (news: NewsOfDatabase) => void): () => void {
    const waiting = { name, take };
    this.#waiting.add(waiting);
    return () => this.#waiting.delete(waiting);
  }
}

export interface FeedPlaces {
  /** Whether there was a place at once, and `spare` more. Who gets one has to `leave` it. */
  tryEnter(spare?: number): boolean;
  leave(): void;
}

export interface RequestPlaces {
  /** Waits for a place. Who was let go on has to `leave`. Fails with the signal's reason where that comes before. */
  enter(signal: AbortSignal): Promise<void>;
  leave(): void;
}

export interface HostPlaces {
  readonly feeds: FeedPlaces;
  readonly requests: RequestPlaces;
  /** Of the server of that address: a host may have more than one, below different paths. Undefined where users may not share what it tells. */
  readonly news: DatabaseNews | undefined;
}

/** One end of one run of a replication. */
export interface RunEnd {
  /** The absolute address of the database. */
  readonly url: string;
  readonly side: 'source' | 'target';
  /** Who the run belongs to: users share what there is. */
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
