/**
 * Changes feeds. A feed keeps no queue: it remembers how far it has read, waits until the database has more, and continues from
 * a snapshot. So nothing is missed between a snapshot and the wait, and a reader that is slow, or far behind, costs no more than
 * any other. While a feed waits it holds nothing of the database, which may be closed meanwhile.
 */

import { DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import { TimeSlice } from '../../base/shared/turn.ts';
import type { ChangeRow, Database, Snapshot } from '../store/contract.ts';
import type {
  DatabaseEventFeed,
  DatabaseWatch,
  Feed,
  FeedEvent,
  FeedOptions,
  Feeds,
  SelectedChange,
} from './contract.ts';
import { type DatabaseEvents, DatabaseWatches, WaitingDatabaseEvents } from './database-events.ts';
import { areFew, changesOf, NewestChanges } from './quick-changes.ts';

interface DatabaseLease {
  readonly database: Database;
  release(): void;
}

/** The databases, as a registry provides them. */
export interface WatchedDatabases extends DatabaseEvents {
  acquire(name: string): Promise<DatabaseLease>;
}

export class DatabaseFeeds implements Feeds {
  readonly #databases: WatchedDatabases;
  readonly #watches: DatabaseWatches;
  readonly #newest = new NewestChanges();
  readonly #ofDatabases = new Set<DatabaseEventFeed>();

  constructor(databases: WatchedDatabases) {
    this.#databases = databases;
    this.#watches = new DatabaseWatches(databases);
  }

  async open(name: string, options: FeedOptions): Promise<Feed> {
    // Before the snapshot, so that commits in between are noticed.
    const watch = options.lasts === 'once' ? undefined : this.#watches.begin(name);
    const acquire = () => openMoment(this.#databases, name);
    try {
      return new ChangesFeed(await acquire(), { acquire, watch, newest: this.#newest }, options);
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

  /** The number of feeds that wait for document changes, or will wait when they have read the existing ones. */
  get waiting(): number {
    return this.#watches.count;
  }

  /** Ends all feeds in order, with what they have sent so far; for the end of the service. */
  end(): void {
    this.#watches.end();
    for (const feed of [...this.#ofDatabases]) feed.close();
  }
}

/** A snapshot, and the lease that keeps its database open. */
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

interface FeedSource {
  readonly acquire: () => Promise<Moment>;
  /** Undefined for a feed that does not wait. */
  readonly watch: DatabaseWatch | undefined;
  readonly newest: NewestChanges;
}

/**
 * One write may wake a thousand feeds. So one function that remembers its position makes each event: nested
 * generators would briefly take several times as much memory as the change itself.
 */
class ChangesFeed implements Feed {
  readonly moment: Feed['moment'];
  readonly database: Feed['database'];
  readonly #parts: FeedSource;
  readonly #options: FeedOptions;
  #phase: 'reads' | 'waits' | 'is over' = 'reads';
  /** The moment that is being read; undefined if the next one must be acquired. */
  #current: Moment | undefined;
  /** The reading of that moment, if it has begun. */
  #reading: Reading | undefined;
  /** Everything up to here was examined. */
  #seq: number;
  /** Up to where everything was examined when the database was closed during a reading. */
  #closedAt: number | undefined;
  #sent = 0;
  #pending = 0;
  /** What the last event told, and `#seq` before it; undefined for another event. */
  #told: { readonly before: number; readonly changes: readonly SelectedChange[] } | undefined;
  #isBeingRead = false;
  #isDeleted = false;
  #isClosed = false;

  constructor(first: Moment, parts: FeedSource, options: FeedOptions) {
    const { database, snapshot } = first;
    const { uuid, instanceStartTime } = database;
    this.moment = { updateSeq: snapshot.updateSeq, purgeSeq: snapshot.purgeSeq };
    this.database = { uuid, instanceStartTime };
    this.#current = first;
    this.#parts = parts;
    this.#options = options;
    this.#seq = options.since === 'now' ? snapshot.updateSeq : options.since;
  }

  async *events(): AsyncGenerator<FeedEvent, void, void> {
    this.#isBeingRead = true;
    try {
      for (let event = await this.#next(); event !== undefined; event = await this.#next()) yield event;
      await this.#endReading();
      const [lastSeq, pending, isDeleted] = [this.#seq, this.#pending, this.#isDeleted];
      if (!this.#isClosed) yield { type: 'end', lastSeq, pending, isDeleted };
    } finally {
      this.#parts.watch?.end();
      await this.#endReading();
    }
  }

  async takeBack(used: number, error: unknown): Promise<void> {
    if (this.#parts.watch === undefined || this.#told === undefined) throw error;
    const { before, changes } = this.#told;
    this.#told = undefined;
    this.#seq = changes[used - 1]?.row.seq ?? before;
    this.#sent -= changes.length - used;
    this.#pending = 0;
    if (isDatabaseError(error, 'storage_deleted')) this.#endsDeleted();
    else {
      this.#phase = 'reads';
      await this.#readAgain(error);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#parts.watch?.end();
    // The reader may be in the middle of the snapshot; it then releases the snapshot itself.
    if (!this.#isBeingRead) this.#release();
  }

  #release(): void {
    this.#current?.release();
    this.#current = undefined;
  }

  async #endReading(): Promise<void> {
    try {
      await this.#reading?.rest.return?.();
    } finally {
      this.#reading = undefined;
      this.#release();
    }
  }

  /**
   * Returns the next event; undefined if only the end is left. When a database is deleted, feeds that follow it end in order; others fail.
   */
  async #next(): Promise<FeedEvent | undefined> {
    try {
      while (this.#phase !== 'is over') {
        if (this.#phase === 'waits') await this.#wait();
        else if (this.#current === undefined) await this.#acquireAgain();
        else {
          const event = await this.#nextUnlessClosed(this.#current);
          if (event !== undefined) return event;
        }
      }
    } catch (error) {
      if (this.#parts.watch === undefined || !isDatabaseError(error, 'storage_deleted')) throw error;
      this.#endsDeleted();
    }
    return undefined;
  }

  async #nextUnlessClosed(moment: Moment): Promise<FeedEvent | undefined> {
    try {
      return await this.#nextOf(moment);
    } catch (error) {
      await this.#readAgain(error);
      return undefined;
    }
  }

  /** A database that is closed while its rows are read is opened again: it may have moved to another process. Without progress that is done once. */
  async #readAgain(error: unknown): Promise<void> {
    const isFollowed = this.#parts.watch !== undefined && isDatabaseError(error, 'storage_closed');
    if (!isFollowed || this.#closedAt === this.#seq) throw error;
    this.#closedAt = this.#seq;
    await this.#endReading();
  }

  #endsDeleted(): void {
    this.#isDeleted = true;
    this.#phase = 'is over';
  }

  async #wait(): Promise<void> {
    const outcome = await this.#parts.watch?.next(this.#options.timeoutMs);
    this.#isDeleted = outcome === 'deleted';
    this.#phase = outcome === 'changed' ? 'reads' : 'is over';
  }

  /** Acquires the database again. After a deletion, a database with this name is another one. */
  async #acquireAgain(): Promise<void> {
    const { acquire, watch } = this.#parts;
    try {
      const moment = await acquire();
      if (watch?.hasEnded !== true) {
        this.#current = moment;
        return;
      }
      moment.release();
    } catch (error) {
      if (!isDatabaseError(error, 'not_found')) throw error;
    }
    this.#endsDeleted();
  }

  /** Returns the event for the next rows after `#seq`; undefined if there is none. */
  async #nextOf(moment: Moment): Promise<FeedEvent | undefined> {
    const { limit, filter } = this.#options;
    const { snapshot } = moment;
    const rows = await this.#nextRows(moment);
    if (this.#isClosed) {
      this.#phase = 'is over';
      return undefined;
    }
    if (rows === undefined) return this.#endOfMoment();
    const selected = await filter.select(rows, snapshot);
    if (selected.length < rows.length) this.#assertNoneMoved(snapshot);
    const changes = selected.slice(0, limit - this.#sent);
    const isFull = this.#sent + changes.length >= limit;
    // Rows after the last one that is sent do not count as examined.
    const seq = (isFull ? changes.at(-1)?.row.seq : rows.at(-1)?.seq) ?? this.#seq;
    const pending = isFull && !this.#isDescending ? await snapshot.changeCount(seq) : 0;
    // Only now: a reading that fails begins again where the last one was.
    this.#told = changes.length > 0 ? { before: this.#seq, changes } : undefined;
    this.#seq = seq;
    this.#sent += changes.length;
    if (isFull) {
      this.#pending = pending;
      this.#phase = 'is over';
    }
    return changes.length > 0 ? { type: 'changes', changes, snapshot } : undefined;
  }

  /** Fails if changes moved: a filter skips what changed since a snapshot was taken back, and in descending order it would not come again. */
  #assertNoneMoved({ updateSeq }: Snapshot): void {
    if (!this.#isDescending || updateSeq === this.#reading?.updateSeq) return;
    const reason =
      'Documents changed while their changes were listed from the newest to the oldest. Send the request again.';
    throw new DatabaseError('cancelled', reason);
  }

  #endOfMoment(): FeedEvent | undefined {
    if (!this.#isDescending) this.#seq = Math.max(this.#seq, this.#reading?.updateSeq ?? 0);
    this.#reading = undefined;
    this.#closedAt = undefined;
    this.#told = undefined;
    this.#release();
    const isDone = this.#parts.watch === undefined || (this.#options.lasts === 'first' && this.#sent > 0);
    this.#phase = isDone ? 'is over' : 'waits';
    return isDone ? undefined : { type: 'wait', lastSeq: this.#seq };
  }

  /** Feeds that wait run forward, whatever the request said. */
  get #isDescending(): boolean {
    return this.#options.descending && this.#parts.watch === undefined;
  }

  /** Returns the next rows; undefined if the moment has no more. */
  async #nextRows(moment: Moment): Promise<readonly ChangeRow[] | undefined> {
    if (this.#reading === undefined) return this.#firstRows(moment);
    const { timeSlice, rest } = this.#reading;
    if (timeSlice?.isDue === true) await timeSlice.rest();
    return (await rest.next()).value ?? undefined;
  }

  async #firstRows({ database, snapshot }: Moment): Promise<readonly ChangeRow[] | undefined> {
    const { newest } = this.#parts;
    // Before the reading: a snapshot that is taken back continues with a later moment, of which not everything was examined.
    const { updateSeq, purgeSeq } = snapshot;
    const descending = this.#isDescending;
    const since = descending ? 0 : this.#seq;
    const known = descending ? undefined : newest.get(database, { updateSeq, purgeSeq, since });
    if (known !== undefined) {
      this.#reading = { updateSeq, rest: NOTHING };
      return known;
    }
    const { ids } = this.#options.filter;
    if (ids !== undefined && areFew(ids, await snapshot.changeCount(since))) {
      const found = changesOf(ids, snapshot, { since, descending, updateSeq });
      this.#reading = { updateSeq, rest: found, timeSlice: new TimeSlice() };
      return (await found.next()).value ?? undefined;
    }
    const rest = snapshot.changes({ since, descending })[Symbol.asyncIterator]();
    this.#reading = { updateSeq, rest, timeSlice: new TimeSlice() };
    const rows = (await rest.next()).value ?? undefined;
    if (rows !== undefined && !descending) newest.note(database, { updateSeq, purgeSeq, since }, rows);
    return rows;
  }
}

interface Reading {
  /** The update sequence of the moment when its reading began. */
  readonly updateSeq: number;
  readonly rest: AsyncIterator<readonly ChangeRow[], void>;
  readonly timeSlice?: TimeSlice;
}

const NOTHING: Reading['rest'] = { next: async () => ({ done: true, value: undefined }) };
