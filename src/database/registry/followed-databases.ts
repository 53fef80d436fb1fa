import { DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import { must } from '../../base/shared/assert.ts';
import { CacheBudget } from '../../base/shared/cache-budget.ts';
import { startBackgroundTimer } from '../../base/shared/clock.ts';
import { type MaybePromise, whenReady, withEnd } from '../../base/shared/maybe-promise.ts';
import { TimeSlice } from '../../base/shared/turn.ts';
import { integerSetting } from '../../base/system/config.ts';
import type { FollowedFile, PageStore } from '../../storage/page-store.ts';
import { readOnlyError } from '../../storage/paging/page-errors.ts';
import type { Database } from '../store/contract.ts';
import { type FollowedDatabase, followDatabase } from '../store/following/followed-database.ts';
import { defaultSettings } from '../store/settings.ts';
import { FOLLOWED_EACH_MS, type Lease, type RegistryOptions } from './contract.ts';
import { HandleCache, shutDown } from './handle-cache.ts';
import { Looks } from './looks.ts';
import { DEFAULT_MAX_OPEN } from './settings.ts';

interface FollowedDatabasesOptions
  extends Pick<RegistryOptions, 'store' | 'clock' | 'config' | 'log' | 'cache' | 'counters'> {
  /** The file of a database; undefined if there is none of that name. */
  readonly fileOf: (name: string) => string | undefined;
  /** Brings the list of databases up to date. */
  readonly refresh: () => MaybePromise<void>;
  /** Called when a database was found to have changed, or may have. */
  readonly onUpdate: (name: string) => void;
  /** Called when a database is found to have another security object. */
  readonly onSecurity: (name: string) => void;
}

type FollowedLease = Lease & { readonly database: FollowedDatabase };

/** A database whose changes someone waits for: it stays open. */
class Watched {
  count = 0;
  lease: FollowedLease | undefined;

  end(): void {
    this.lease?.release();
    this.lease = undefined;
  }
}

/** Databases that other processes own, for reading. */
export class FollowedDatabases {
  readonly looks = new Looks();
  readonly #options: FollowedDatabasesOptions;
  readonly #cache: CacheBudget;
  readonly #handles: HandleCache<FollowedDatabase>;
  /** Leases of the databases that are kept fresh. */
  readonly #kept = new Map<string, FollowedLease>();
  readonly #watched = new Map<string, Watched>();
  /** Leases that are not released yet: what depends on rights has to notice changes meanwhile. */
  #inUse = 0;
  #stopTimer: (() => void) | undefined;
  #isClosed = false;

  constructor(options: FollowedDatabasesOptions) {
    this.#options = options;
    this.#cache = options.cache ?? new CacheBudget(defaultSettings.cacheBytes);
    const maxOpen = () => integerSetting(options.config, 'svc', 'max_dbs_open') ?? DEFAULT_MAX_OPEN;
    this.#handles = new HandleCache(maxOpen, (name) => this.#open(name));
  }

  /** The number of databases that are open now. */
  get size(): number {
    return this.#handles.size;
  }

  #has(name: string): boolean {
    return this.#options.fileOf(name) !== undefined;
  }

  /** Makes those of the databases that exist contain all that was committed before this call, and keeps them open. */
  keepFresh(names: readonly string[]): MaybePromise<void> {
    const waiting: Promise<void>[] = [];
    for (const name of names) {
      if (!this.#has(name)) continue;
      const lease = this.#kept.get(name);
      const refreshed = lease === undefined ? this.#keepFresh(name) : lease.database.refresh();
      if (refreshed instanceof Promise) waiting.push(refreshed);
    }
    return waiting.length === 0 ? undefined : Promise.all(waiting).then(() => undefined);
  }

  async #keepFresh(name: string): Promise<void> {
    const lease = await this.#handles.lease(name);
    if (this.#isClosed || this.#kept.has(name)) lease.release();
    else this.#kept.set(name, lease);
    await lease.database.refresh();
    // It may have changed before anything could be noticed.
    this.#options.onUpdate(name);
  }

  async #open(name: string): Promise<FollowedDatabase> {
    const listed = this.#options.fileOf(name);
    if (listed === undefined) throw gone();
    const database = await this.follow(name, listed).catch(async (error: unknown) => {
      if (!isDatabaseError(error, 'storage_missing')) throw error;
      await this.#options.refresh();
      // It was deleted a moment ago, or it is damaged: then the owner knows.
      throw this.#options.fileOf(name) === listed ? readOnlyError(name) : gone();
    });
    database.onChange(() => {
      if (this.#has(name)) this.#options.onUpdate(name);
    });
    return database;
  }

  /** Follows a file that is not kept with the others. */
  async follow(name: string, fileName: string): Promise<FollowedDatabase> {
    const { store, clock, log, counters } = this.#options;
    const file = await followFile(store, fileName);
    const onSecurity = () => this.#options.onSecurity(name);
    const shared = { clock, log, cache: this.#cache, counters, supports: store.supports };
    return followDatabase({ ...shared, name, file, onSecurity, onLook: this.looks.add });
  }

  /** See `Registry.peek`. */
  peek(name: string): Database | undefined {
    return this.#handles.peek(name);
  }

  /** See `Registry.use`. */
  use<T>(name: string, use: (database: Database) => MaybePromise<T>): MaybePromise<T> {
    return whenReady(this.lease(name), (lease) =>
      withEnd(
        () => use(lease.database),
        () => lease.release(),
      ),
    );
  }

  /** A lease of the database with all that was committed before this call. Fails with `not_found` "no_db_file". */
  lease(name: string): MaybePromise<Lease> {
    if (this.#isClosed) throw shutDown();
    if (!this.#has(name)) throw gone();
    const lease = this.#handles.leaseNow(name);
    // The opening may have been begun by an earlier request, and have looked before this one came.
    return lease === undefined ? this.#handles.lease(name).then((opened) => this.#fresh(opened)) : this.#fresh(lease);
  }

  #fresh(lease: FollowedLease): MaybePromise<Lease> {
    try {
      const refreshed = lease.database.refresh();
      if (refreshed === undefined) return this.#counted(lease);
      return refreshed.then(
        () => this.#counted(lease),
        (error: unknown) => this.#giveBack(lease, error),
      );
    } catch (error) {
      return this.#giveBack(lease, error);
    }
  }

  #giveBack(lease: Lease, error: unknown): never {
    lease.release();
    throw error;
  }

  #counted({ database, release }: Lease): Lease {
    this.#inUse += 1;
    this.#startTimer();
    let isReleased = false;
    return {
      database,
      release: () => {
        if (isReleased) return;
        isReleased = true;
        this.#inUse -= 1;
        release();
      },
    };
  }

  /** See `Registry.watch`. */
  watch(name: string): () => void {
    const watched = this.#watched.get(name) ?? new Watched();
    watched.count += 1;
    this.#watched.set(name, watched);
    this.#startTimer();
    return () => {
      watched.count -= 1;
      if (watched.count > 0) return;
      this.#watched.delete(name);
      watched.end();
    };
  }

  /** Brings the list of databases up to date again and again, until the returned function is called. */
  keepLooking(): () => void {
    this.#inUse += 1;
    this.#startTimer();
    return () => {
      this.#inUse -= 1;
    };
  }

  #startTimer(): void {
    if (this.#stopTimer !== undefined || this.#isClosed) return;
    this.#stopTimer = startBackgroundTimer(FOLLOWED_EACH_MS, () => {
      void this.#look().finally(() => {
        this.#stopTimer = undefined;
        if (this.#inUse > 0 || this.#watched.size > 0) this.#startTimer();
      });
    });
  }

  /** Looks for changes that someone waits for. Failures are met again by the requests that read. */
  async #look(): Promise<void> {
    const timeSlice = new TimeSlice();
    const refreshed: Promise<unknown>[] = [];
    try {
      await this.#options.refresh();
      for (const [name, watched] of this.#watched) {
        if (timeSlice.isDue) await timeSlice.rest();
        if (!this.#has(name)) continue;
        const looked =
          watched.lease === undefined ? this.#openWatched(name, watched) : watched.lease.database.refresh();
        if (looked instanceof Promise) refreshed.push(looked.catch((error: unknown) => this.#noteFailure(error)));
      }
    } catch (error) {
      this.#noteFailure(error);
    }
    await Promise.all(refreshed);
  }

  async #openWatched(name: string, watched: Watched): Promise<void> {
    const lease = await this.#handles.lease(name);
    if (watched.count === 0 || watched.lease !== undefined) lease.release();
    else watched.lease = lease;
    // It may have changed before.
    this.#options.onUpdate(name);
  }

  #noteFailure(error: unknown): void {
    if (isDatabaseError(error)) this.#options.log.debug(`looking for changes failed: ${error.reason}`);
    else this.#options.log.error('looking for changes failed', error);
  }

  /** Ends a database that was deleted, or that this process owns now. Its readers fail. */
  async discard(name: string): Promise<void> {
    this.#kept.get(name)?.release();
    this.#kept.delete(name);
    this.#watched.get(name)?.end();
    await this.#handles.discard(name);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopTimer?.();
    await this.#handles.close();
  }
}

function gone(): DatabaseError {
  return new DatabaseError('not_found', 'no_db_file');
}

async function followFile(store: PageStore, file: string): Promise<FollowedFile> {
  const followed = await store.follow?.(file);
  return must(followed, 'this storage can be read by several processes');
}
