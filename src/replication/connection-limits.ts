/**
 * Limits how many connections all replications use together. On a server they use a share of those that the process may open
 * (`FairConnectionLimits`); in browsers, a share of those to each host. Browsers have six for each host, shared by pages and workers of an app: the
 * app's own requests must never wait until one of our feeds has something to report.
 */
import { startBackgroundTimer } from '../base/shared/clock.ts';

/** Feeds, each of which keeps a connection while it lasts: one of a database, and one that reports on all others. */
const MAX_FEEDS = 2;
/** Requests that get a response and end. */
const MAX_REQUESTS = 3;

/**
 * After a longer wait a request goes on without a permit: a request may hold one while it waits for another request, which could deadlock.
 */
const MAX_WAIT_MS = 2_000;

/** A limited number of permits, granted in the order of the requests. */
export class Semaphore {
  /** Below 0 if some went on without a permit. */
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Takes a permit if one is free, with `spare` more. Returns whether it did. A caller that gets one has to `release` it. */
  tryAcquire(spare = 0): boolean {
    if (this.#free <= spare) return false;
    this.#free--;
    return true;
  }

  /** Waits for a permit, for a limited time. Call `release` afterwards. Fails with the signal's reason if it aborts first. */
  acquire(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      if (this.tryAcquire()) return resolve();
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
      const stop = startBackgroundTimer(MAX_WAIT_MS, goOn);
      this.#waiting.add(goOn);
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  release(): void {
    this.#free++;
    const [next] = this.#waiting;
    if (this.#free > 0) next?.();
  }
}

/** `updated`: there may be new changes; `replaced`: it was created or deleted; `ended`: there is no reader any more. */
export type DatabaseEvent = 'updated' | 'replaced' | 'ended';

/** A server's events of all its databases (`_db_updates`), for replications that have no feed of their own. One of them reads the events for all. */
export class DatabaseEvents {
  #isRead = false;
  readonly #waiting = new Set<{ readonly name: string; readonly take: (event: DatabaseEvent) => void }>();

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
    this.emit('ended');
  }

  /** `name`: undefined for all, since it is unknown what happened before. */
  emit(event: DatabaseEvent, name?: string): void {
    const waiting = [...this.#waiting].filter((one) => name === undefined || one.name === name);
    for (const one of waiting) {
      this.#waiting.delete(one);
      one.take(event);
    }
  }

  /** Calls `take` once, with the next event of the database of that name. Returns a function that ends the wait. */
  next(name: string, take: (event: DatabaseEvent) => void): () => void {
    const waiting = { name, take };
    this.#waiting.add(waiting);
    return () => this.#waiting.delete(waiting);
  }
}

export interface FeedPermits {
  /** Takes a permit if one is free, with `spare` more. Returns whether it did. A caller that gets one has to `release` it. */
  tryAcquire(spare?: number): boolean;
  release(): void;
}

export interface RequestPermits {
  /** Waits for a permit. Call `release` afterwards. Fails with the signal's reason if it aborts first. */
  acquire(signal: AbortSignal): Promise<void>;
  release(): void;
}

/** The connections that the replications of one host share. */
export interface HostLimits {
  readonly feeds: FeedPermits;
  readonly requests: RequestPermits;
  /** Events of the server at that address: a host may have several, below different paths. Undefined if users may not share them. */
  readonly events: DatabaseEvents | undefined;
}

/** One end of one run of a replication. */
export interface RunEnd {
  /** The absolute address of the database. */
  readonly url: string;
  readonly side: 'source' | 'target';
  /** The user of the run: users share the permits. */
  readonly user: string;
}

/** The limits that apply to each end of a run. */
export interface ConnectionLimits {
  of(end: RunEnd): HostLimits;
}

/** For browsers: a limit for each host. */
export class HostConnectionLimits implements ConnectionLimits {
  readonly #hosts = new Map<string, Pick<HostLimits, 'feeds' | 'requests'>>();
  readonly #events = new Map<string, DatabaseEvents>();

  of({ url }: Pick<RunEnd, 'url'>): HostLimits {
    const { origin } = new URL(url);
    const limits = this.#hosts.get(origin) ?? {
      feeds: new Semaphore(MAX_FEEDS),
      requests: new Semaphore(MAX_REQUESTS),
    };
    this.#hosts.set(origin, limits);
    const server = url.slice(0, url.lastIndexOf('/'));
    const events = this.#events.get(server) ?? new DatabaseEvents();
    this.#events.set(server, events);
    return { ...limits, events };
  }
}

interface Holder {
  readonly user: string;
  held: number;
}

interface Waiter {
  readonly holder: Holder;
  goOn(): void;
}

/** A semaphore that users share. Waiters are served in the order of arrival; a user who has the maximum is skipped. */
export class FairSemaphore {
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

  /** Takes a permit if one is free. Returns whether it did. */
  tryAcquire(holder: Holder): boolean {
    if (!this.#fits(holder)) return false;
    this.#count(holder, 1);
    return true;
  }

  /** Waits for a permit. Fails with the signal's reason if it aborts first. */
  acquire(holder: Holder, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      if (this.tryAcquire(holder)) return resolve();
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

  release(holder: Holder): void {
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

/** For servers: all runs of one user take at most half of the connections, and one run at most a third. */
export class FairConnectionLimits implements ConnectionLimits {
  /** Half of all: each lasts as long as its replication. A run without one polls now and then. */
  readonly #feeds: FairSemaphore;
  /** A request to a source may last until one to a target has ended, and never the other way round: so there is no deadlock. */
  readonly #requests: Readonly<Record<RunEnd['side'], FairSemaphore>>;

  /** `most`: connections at a time. Attachments that are read while they are written, one for each request to a target, are additional. */
  constructor(most: number) {
    this.#feeds = new FairSemaphore(Math.floor(most / 2));
    this.#requests = {
      source: new FairSemaphore(Math.floor(most / 4)),
      target: new FairSemaphore(Math.floor(most / 4)),
    };
  }

  of({ side, user }: Omit<RunEnd, 'url'>): HostLimits {
    const feeds = permitsFor(this.#feeds, { user, held: 0 });
    return { feeds, requests: permitsFor(this.#requests[side], { user, held: 0 }), events: undefined };
  }
}

function permitsFor(semaphore: FairSemaphore, holder: Holder): RequestPermits & { tryAcquire(): boolean } {
  return {
    tryAcquire: () => semaphore.tryAcquire(holder),
    acquire: (signal) => semaphore.acquire(holder, signal),
    release: () => semaphore.release(holder),
  };
}
