import { DatabaseError } from '../../../base/errors/database-error.ts';
import { must } from '../../../base/shared/assert.ts';
import type { CacheBudget } from '../../../base/shared/cache-budget.ts';
import { type Clock, startBackgroundTimer } from '../../../base/shared/clock.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import type { Log } from '../../../base/system/contract.ts';
import type { FollowedFile, FollowedPoint, FollowedState, PageStoreSupport } from '../../../storage/page-store.ts';
import { PageAllocator } from '../../../storage/paging/page-allocator.ts';
import { PageCache } from '../../../storage/paging/page-cache.ts';
import { readOnlyError } from '../../../storage/paging/page-errors.ts';
import { FOLLOWER_EPOCH } from '../../../storage/paging/read-only-file.ts';
import type { DocId } from '../../documents/contract.ts';
import type {
  CurrentDocument,
  Database,
  DatabaseCounters,
  DatabaseInfo,
  DatabaseOrigin,
  LocalDocument,
  Snapshot,
  TimeMark,
} from '../contract.ts';
import { defaultSettings } from '../settings.ts';
import { seqAt } from '../state/time-marks.ts';
import { Generation, type GenerationOptions } from './generation.ts';

/** A state that no one has asked for during this time is no longer held: the owner may drop its pages. */
const IDLE_MS = 2_000;

export interface FollowOptions {
  readonly name: string;
  readonly file: FollowedFile;
  readonly supports: PageStoreSupport;
  readonly clock: Clock;
  readonly log: Log;
  /** Shared with other databases, or the bytes for this one alone. */
  readonly cache: CacheBudget | number;
  readonly counters?: DatabaseCounters | undefined;
  /** Milliseconds after which a reader's hold on old pages ends. Default: as for owners. */
  readonly snapshotMaxAgeMs?: number | undefined;
  /** Called when a refresh has found another security object. */
  readonly onSecurity?: (() => void) | undefined;
  /** Called with each look at the file that takes more than a turn. */
  readonly onLook?: ((look: Promise<unknown>) => void) | undefined;
}

/** Follows a database that another one owns. Fails as `FollowedFile.poll` does, and if what is stored is damaged. */
export async function followDatabase(options: FollowOptions): Promise<FollowedDatabase> {
  const database = new FollowedDatabase(options);
  try {
    await database.refresh();
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/**
 * A database that another process owns, for reading. It has the state of its last `refresh`, which applies what the owner has committed since:
 * new journal records to the state in memory, and after a checkpoint of the owner the new head. Snapshots keep the state that they began
 * with. All that writes fails with `not_owner`.
 */
export class FollowedDatabase implements Database {
  readonly name: string;
  readonly #file: FollowedFile;
  readonly #options: GenerationOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #listeners = new Set<(updateSeq: number) => void>();
  readonly #onSecurity: () => void;
  readonly #onLook: FollowOptions['onLook'];
  #present: Generation | undefined;
  /** Former generations that snapshots still read. */
  readonly #retired = new Set<Generation>();
  #point: FollowedPoint | undefined;
  #isHeld = false;
  #lastUse = 0;
  #stopIdleTimer: (() => void) | undefined;
  #refreshing: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: FollowOptions) {
    const { name, file, supports, clock, log, cache, counters, snapshotMaxAgeMs } = options;
    this.#onSecurity = options.onSecurity ?? (() => undefined);
    this.#onLook = options.onLook;
    this.name = name;
    this.#file = file;
    this.#clock = clock;
    this.#log = log;
    this.#options = {
      ...{ name, file, supports, clock },
      snapshotMaxAgeMs: snapshotMaxAgeMs ?? defaultSettings.snapshotMaxAgeMs,
      cache: new PageCache(cache),
      allocator: new PageAllocator(FOLLOWER_EPOCH, 0),
      reads: counters?.databaseReads ?? { value: 0 },
      present: () => this.#generation,
    };
  }

  /**
   * Makes the database contain every commit whose promise had resolved before this call: in the same turn if there is nothing new and the storage
   * answers at once.
   */
  refresh(): MaybePromise<void> {
    this.#mustBeOpen();
    if (this.#refreshing !== undefined) return this.#afterRefreshing();
    this.#lastUse = this.#clock.monotonic();
    const polled = this.#file.poll(this.#point, !this.#isHeld);
    if (polled === undefined) return;
    if (polled instanceof Promise) this.#onLook?.(polled);
    if (!(polled instanceof Promise) && polled.continues && polled.records.length === 0) {
      this.#hold(polled);
      return;
    }
    const refreshing = this.#applied(polled).finally(() => {
      if (this.#refreshing === refreshing) this.#refreshing = undefined;
    });
    this.#refreshing = refreshing;
    return refreshing;
  }

  /** The running refresh may have looked before the commit that the caller knows of. */
  #afterRefreshing(): Promise<void> {
    this.#next ??= must(this.#refreshing)
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined;
        return this.refresh();
      });
    return this.#next;
  }

  async #applied(polled: MaybePromise<FollowedState | undefined>): Promise<void> {
    const state = await polled;
    if (state === undefined) return;
    const before = this.#present && { updateSeq: this.updateSeq, security: this.security };
    try {
      this.#mustBeOpen();
      await this.#apply(state);
    } catch (error) {
      state.release();
      // A part of the records may have been replayed.
      this.#point = undefined;
      throw error;
    }
    this.#point = state.point;
    if (before === undefined) return;
    // First, so that no one gets a change whose right to it has ended.
    if (before.security !== this.security) this.#onSecurity();
    if (before.updateSeq !== this.updateSeq) this.#notify();
  }

  async #apply(state: FollowedState): Promise<void> {
    if (state.continues && this.#present !== undefined) {
      await this.#present.replay(state.records);
      this.#hold(state);
      return;
    }
    const { head } = state.point;
    if (head === undefined) throw notBegun(this.name);
    const next = await Generation.open(this.#options, state, head);
    const former = this.#present;
    this.#present = next;
    this.#noteHold();
    if (former !== undefined) this.#retired.add(former);
    former?.retire();
    this.#endUnread();
  }

  #endUnread(): void {
    for (const generation of this.#retired) if (generation.releaseIfUnread()) this.#retired.delete(generation);
  }

  #hold(state: FollowedState): void {
    this.#generation.hold(state);
    this.#point = state.point;
    this.#noteHold();
  }

  #noteHold(): void {
    this.#isHeld = true;
    this.#startIdleTimer();
  }

  #startIdleTimer(): void {
    this.#stopIdleTimer ??= startBackgroundTimer(IDLE_MS, () => this.#releaseIfIdle());
  }

  #releaseIfIdle(): void {
    this.#stopIdleTimer = undefined;
    if (this.#isClosed) return;
    // Readers that are too slow keep nothing.
    this.#endUnread();
    const isIdle = this.#refreshing === undefined && this.#clock.monotonic() - this.#lastUse >= IDLE_MS;
    if (this.#isHeld && isIdle && this.#generation.releaseIfUnread()) this.#isHeld = false;
    if (this.#isHeld || this.#retired.size > 0) this.#startIdleTimer();
  }

  get #generation(): Generation {
    return must(this.#present, 'the database was opened');
  }

  get uuid(): string {
    return this.#generation.reader.uuid;
  }

  get instanceStartTime(): string {
    return this.#generation.reader.instanceStartTime;
  }

  get updateSeq(): number {
    return this.#generation.reader.updateSeq;
  }

  get purgeSeq(): number {
    return this.#generation.reader.purgeSeq;
  }

  get epoch(): number {
    return this.#generation.reader.epoch;
  }

  /** Identifies what the last refresh that found something has found. */
  get moment(): unknown {
    return this.#generation.opened.state.current;
  }

  async info(): Promise<DatabaseInfo> {
    this.#mustBeOpen();
    return { ...(await this.#generation.reader.info()), compactRunning: false };
  }

  async origin(): Promise<DatabaseOrigin> {
    this.#mustBeOpen();
    return this.#generation.reader.origin();
  }

  current(id: DocId): CurrentDocument | undefined {
    return this.#isClosed ? undefined : this.#generation.reader.current(id);
  }

  snapshot(): Snapshot {
    this.#mustBeOpen();
    this.#holdAgain();
    return this.#generation.reader.snapshot();
  }

  /** A caller that had the database open for long may read after the hold was given up. If the storage answers later there is none until the next refresh. */
  #holdAgain(): void {
    if (this.#isHeld || this.#point === undefined) return;
    const state = this.#file.poll(this.#point, true);
    if (state instanceof Promise) void state.then((late) => late?.release());
    else if (state?.continues === true && state.records.length === 0) this.#hold(state);
    else state?.release();
  }

  readLocal(id: DocId): MaybePromise<LocalDocument | undefined> {
    this.#mustBeOpen();
    return this.#generation.reader.readLocal(id);
  }

  get security(): string {
    return this.#generation.opened.settings.security;
  }

  get revsLimit(): number {
    return this.#generation.opened.settings.revsLimit;
  }

  get autoPurge(): string {
    return this.#generation.opened.settings.autoPurge;
  }

  get timeMarks(): readonly TimeMark[] {
    return this.#generation.reader.timeMarks;
  }

  seqAt(seconds: number): number {
    return seqAt(this.timeMarks, seconds);
  }

  purgeNotes(): MaybePromise<string | undefined> {
    return this.#generation.reader.purgeNotes();
  }

  readonly compactRunning = false;

  write(): Promise<never> {
    return this.#refuse();
  }

  writeDelayed(): Promise<never> {
    return this.#refuse();
  }

  writeLocal(): Promise<never> {
    return this.#refuse();
  }

  setSecurity(): Promise<never> {
    return this.#refuse();
  }

  setRevsLimit(): Promise<never> {
    return this.#refuse();
  }

  setAutoPurge(): Promise<never> {
    return this.#refuse();
  }

  setPurgeNotes(): Promise<never> {
    return this.#refuse();
  }

  resetTimes(): Promise<never> {
    return this.#refuse();
  }

  purge(): Promise<never> {
    return this.#refuse();
  }

  purgeTombstones(): Promise<never> {
    return this.#refuse();
  }

  upload(): Promise<never> {
    return this.#refuse();
  }

  flush(): Promise<never> {
    return this.#refuse();
  }

  compact(): Promise<never> {
    return this.#refuse();
  }

  verify(): Promise<never> {
    return this.#refuse();
  }

  async #refuse(): Promise<never> {
    this.#mustBeOpen();
    throw readOnlyError(this.name);
  }

  onChange(listener: (updateSeq: number) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #notify(): void {
    for (const listener of this.#listeners) {
      try {
        listener(this.updateSeq);
      } catch (error) {
        this.#log.error(`a listener to the changes of ${this.name} failed`, error);
      }
    }
  }

  /** See `close`: there is nothing to store in any case. */
  discard(): Promise<void> {
    return this.close();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopIdleTimer?.();
    await this.#refreshing?.catch(() => undefined);
    for (const generation of this.#retired) generation.close();
    this.#present?.close();
    this.#options.cache.close();
    await this.#file.close();
  }

  #mustBeOpen(): void {
    if (this.#isClosed)
      throw new DatabaseError('storage_closed', `The database ${this.name} is closed. Open it again.`);
  }
}

function notBegun(name: string): DatabaseError {
  return new DatabaseError('storage_closed', `The database ${name} is still being created. Send the request again.`);
}
