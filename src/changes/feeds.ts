/**
 * Feeds of changes. A feed keeps no queue: it remembers up to where it has read, waits until the database has more, and reads on from
 * a snapshot. So nothing is missed between a snapshot and the wait, and a reader that is slow, or far behind, costs no more than
 * another. While it waits it holds nothing of the database, which may be closed meanwhile.
 */
import type { ChangeRow, Database, Snapshot } from '../database/contract.ts';
import { isDatabaseError } from '../errors/database-error.ts';
import { Pace } from '../shared/turn.ts';
import type { DatabaseEventFeed, DatabaseWatch, Feed, FeedEvent, FeedOptions, Feeds } from './contract.ts';
import { WaitingDatabaseEvents } from './database-event-feed.ts';
import { type DatabaseEvents, DatabaseWatches } from './database-watch.ts';
import { areFew, changesOf } from './document-changes.ts';

interface DatabaseLease {
  readonly database: Database;
  release(): void;
}

/** The databases, as a registry has them. */
export interface WatchedDatabases extends DatabaseEvents {
  acquire(name: string): Promise<DatabaseLease>;
}

export class DatabaseFeeds implements Feeds {
  readonly #databases: WatchedDatabases;
  readonly #watches: DatabaseWatches;
  readonly #ofDatabases = new Set<DatabaseEventFeed>();

  constructor(databases: WatchedDatabases) {
    this.#databases = databases;
    this.#watches = new DatabaseWatches(databases);
  }

  async open(name: string, options: FeedOptions): Promise<Feed> {
    // Before the snapshot: what is committed in between is noticed.
    const watch = options.lasts === 'once' ? undefined : this.#watches.begin(name);
    const acquire = () => openMoment(this.#databases, name);
    try {
      return new ChangesFeed(await acquire(), acquire, watch, options);
    } catch (error) {
      watch?.end();
      throw error;
    }
  }

  watch(name: string): DatabaseWatch {
    return this.#watches.begin(name);
  }

  openDatabases(): DatabaseEventFeed {
    const feed: DatabaseEventFeed = new WaitingDatabaseEvents((listener) => {
      const stop = this.#databases.onEvent(listener);
      return () => {
        stop();
        this.#ofDatabases.delete(feed);
      };
    });
    this.#ofDatabases.add(feed);
    return feed;
  }

  /** Has all feeds end in order, with what they have sent so far; for the end of the service. */
  end(): void {
    this.#watches.end();
    for (const feed of [...this.#ofDatabases]) feed.close();
  }
}

/** A snapshot, and what keeps its database open. */
interface Moment {
  readonly database: Database;
  readonly snapshot: Snapshot;
  release(): void;
}

async function openMoment(databases: WatchedDatabases, name: string): Promise<Moment> {
  const lease = await databases.acquire(name);
  const { database } = lease;
  try {
    const snapshot = database.snapshot();
    return {
      database,
      snapshot,
      release: () => {
        snapshot.release();
        lease.release();
      },
    };
  } catch (error) {
    lease.release();
    throw error;
  }
}

class ChangesFeed implements Feed {
  readonly moment: Feed['moment'];
  readonly database: Feed['database'];
  readonly #acquire: () => Promise<Moment>;
  readonly #watch: DatabaseWatch | undefined;
  readonly #options: FeedOptions;
  /** The moment that is being read. */
  #current: Moment | undefined;
  /** Up to here all was looked at. */
  #seq: number;
  #sent = 0;
  #pending = 0;
  #isBeingRead = false;
  #isDeleted = false;
  #isClosed = false;

  constructor(first: Moment, acquire: () => Promise<Moment>, watch: DatabaseWatch | undefined, options: FeedOptions) {
    const { database, snapshot } = first;
    const { uuid, instanceStartTime } = database;
    this.moment = { updateSeq: snapshot.updateSeq, purgeSeq: snapshot.purgeSeq };
    this.database = { uuid, instanceStartTime };
    this.#current = first;
    this.#acquire = acquire;
    this.#watch = watch;
    this.#options = options;
    this.#seq = options.since === 'now' ? snapshot.updateSeq : options.since;
  }

  async *events(): AsyncGenerator<FeedEvent, void, void> {
    this.#isBeingRead = true;
    try {
      yield* this.#untilDeleted();
      this.#release();
      const [lastSeq, pending, isDeleted] = [this.#seq, this.#pending, this.#isDeleted];
      if (!this.#isClosed) yield { type: 'end', lastSeq, pending, isDeleted };
    } finally {
      this.#watch?.end();
      this.#release();
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#watch?.end();
    // Whoever reads it may be in the middle of the snapshot, and releases it then.
    if (!this.#isBeingRead) this.#release();
  }

  #release(): void {
    this.#current?.release();
    this.#current = undefined;
  }

  /** A database that is deleted ends the feeds that follow it in order; what reads it once fails. */
  async *#untilDeleted(): AsyncGenerator<FeedEvent, void, void> {
    try {
      yield* this.#changes();
    } catch (error) {
      if (this.#watch === undefined || !isDatabaseError(error, 'storage_deleted')) throw error;
      this.#isDeleted = true;
    }
  }

  async *#changes(): AsyncGenerator<FeedEvent, void, void> {
    const { lasts, limit, timeoutMs } = this.#options;
    for (;;) {
      this.#current ??= await this.#acquireAgain();
      if (this.#current === undefined) {
        this.#isDeleted = true;
        return;
      }
      yield* this.#read(this.#current);
      this.#release();
      const isDone = this.#isClosed || this.#sent >= limit || (lasts === 'first' && this.#sent > 0);
      if (this.#watch === undefined || isDone) return;
      yield { type: 'wait', lastSeq: this.#seq };
      const outcome = await this.#watch.next(timeoutMs);
      this.#isDeleted = outcome === 'deleted';
      if (outcome !== 'changed') return;
    }
  }

  /** Undefined where the database is gone: what has its name now is another one. */
  async #acquireAgain(): Promise<Moment | undefined> {
    try {
      const moment = await this.#acquire();
      if (this.#watch?.hasEnded !== true) return moment;
      moment.release();
      return undefined;
    } catch (error) {
      if (isDatabaseError(error, 'not_found')) return undefined;
      throw error;
    }
  }

  /** What the moment has behind `#seq`. */
  async *#read({ snapshot }: Moment): AsyncGenerator<FeedEvent, void, void> {
    const { limit, filter } = this.#options;
    const pace = new Pace();
    // Before it is read: a snapshot that is taken back goes on with a later moment, of which not all was looked at.
    const { updateSeq } = snapshot;
    for await (const rows of this.#rows(snapshot)) {
      if (this.#isClosed) return;
      const changes = (await filter.select(rows, snapshot)).slice(0, limit - this.#sent);
      this.#sent += changes.length;
      const isFull = this.#sent >= limit;
      // Of what comes behind the last one that is sent nothing counts as looked at.
      this.#seq = (isFull ? changes.at(-1)?.row.seq : rows.at(-1)?.seq) ?? this.#seq;
      if (isFull) this.#pending = this.#isDescending ? 0 : await snapshot.changeCount(this.#seq);
      if (changes.length > 0) yield { type: 'changes', changes, snapshot };
      if (isFull) return;
      if (pace.isDue) await pace.rest();
    }
    if (!this.#isDescending) this.#seq = Math.max(this.#seq, updateSeq);
  }

  /** Feeds that wait run forward, whatever was asked for. */
  get #isDescending(): boolean {
    return this.#options.descending && this.#watch === undefined;
  }

  async *#rows(snapshot: Snapshot): AsyncGenerator<readonly ChangeRow[], void, void> {
    const descending = this.#isDescending;
    const since = descending ? 0 : this.#seq;
    const { ids } = this.#options.filter;
    if (ids !== undefined && areFew(ids, await snapshot.changeCount(since))) {
      yield await changesOf(ids, snapshot, { since, descending });
    } else {
      yield* snapshot.changes({ since, descending });
    }
  }
}
