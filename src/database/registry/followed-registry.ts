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
import { type DatabaseEvent, FOLLOWED_EACH_MS, type Lease, type Registry, type RegistryOptions } from './contract.ts';
import { REGISTRY_FILE } from './database-list.ts';
import { HandleCache, shutDown } from './handle-cache.ts';
import { type ListContent, readListContent } from './list-content.ts';
import { DEFAULT_MAX_OPEN } from './settings.ts';

export interface FollowedRegistryOptions
  extends Pick<RegistryOptions, 'store' | 'clock' | 'config' | 'log' | 'cache' | 'counters'> {
  /** The databases that every `refresh` looks at, too, because others than their readers depend on them. */
  readonly alwaysFresh: () => readonly string[];
  /** Called when a database is found to have another security object. */
  readonly onSecurity: (name: string) => void;
  /** Called when other texts are found with the list. */
  readonly onNotes: () => void;
}

/** Opens the databases of a storage that another process owns, for reading. Fails with `storage_missing` if no one has begun a list in it. */
export async function followRegistry(options: FollowedRegistryOptions): Promise<Registry> {
  const registry = new FollowedRegistry(options);
  try {
    await registry.open();
    return registry;
  } catch (error) {
    await registry.close();
    throw error;
  }
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

/** The databases as another process, their owner, lists them: for reading. */
class FollowedRegistry implements Registry {
  readonly #options: FollowedRegistryOptions;
  readonly #cache: CacheBudget;
  readonly #handles: HandleCache<FollowedDatabase>;
  readonly #listeners = new Set<(event: DatabaseEvent) => void>();
  #openedList: FollowedDatabase | undefined;
  #readContent: ListContent | undefined;
  /** The moment of the list from which the content was read. */
  #readAt: unknown;
  #reading: Promise<void> | undefined;
  /** Leases of the databases that are looked at at every refresh. */
  readonly #kept = new Map<string, FollowedLease>();
  readonly #watched = new Map<string, Watched>();
  /** Leases that are not released yet: what depends on rights has to notice changes meanwhile. */
  #inUse = 0;
  #stopTimer: (() => void) | undefined;
  #isClosed = false;

  constructor(options: FollowedRegistryOptions) {
    this.#options = options;
    this.#cache = options.cache ?? new CacheBudget(defaultSettings.cacheBytes);
    const maxOpen = () => integerSetting(options.config, 'svc', 'max_dbs_open') ?? DEFAULT_MAX_OPEN;
    this.#handles = new HandleCache(maxOpen, (name) => this.#open(name));
  }

  async open(): Promise<void> {
    this.#openedList = await this.#follow(REGISTRY_FILE, REGISTRY_FILE);
    await this.#readList();
  }

  get #list(): FollowedDatabase {
    return must(this.#openedList, 'the registry is used after it was opened');
  }

  get #content(): ListContent {
    return must(this.#readContent, 'the registry is used after it was opened');
  }

  refresh(): MaybePromise<void> {
    if (this.#isClosed) throw shutDown();
    return whenReady(this.#list.refresh(), () => {
      const isRead = this.#readAt === this.#list.moment && this.#reading === undefined;
      return isRead ? this.#refreshOthers() : this.#readAgain().then(() => this.#refreshOthers());
    });
  }

  #readAgain(): Promise<void> {
    if (this.#reading !== undefined) {
      return this.#reading.then(() => (this.#readAt === this.#list.moment ? undefined : this.#readAgain()));
    }
    const reading = this.#readList().finally(() => {
      this.#reading = undefined;
    });
    this.#reading = reading;
    return reading;
  }

  async #readList(): Promise<void> {
    const { moment } = this.#list;
    const content = await readListContent(this.#list);
    const before = this.#readContent;
    this.#readContent = content;
    this.#readAt = moment;
    if (before === undefined) return;
    if (!isSame(before.notes, content.notes)) this.#options.onNotes();
    await this.#notice(before.entries, content.entries);
  }

  async #notice(before: ListContent['entries'], after: ListContent['entries']): Promise<void> {
    const timeSlice = new TimeSlice();
    for (const [name, { file }] of before) {
      if (timeSlice.isDue) await timeSlice.rest();
      if (after.get(name)?.file === file) continue;
      this.#kept.get(name)?.release();
      this.#kept.delete(name);
      this.#watched.get(name)?.end();
      await this.#handles.discard(name);
      this.#emit({ type: 'deleted', name });
    }
    for (const [name, { file }] of after) {
      if (timeSlice.isDue) await timeSlice.rest();
      if (before.get(name)?.file !== file) this.#emit({ type: 'created', name });
    }
  }

  #refreshOthers(): MaybePromise<void> {
    const waiting: Promise<void>[] = [];
    for (const name of this.#options.alwaysFresh()) {
      if (!this.has(name)) continue;
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
    this.#emit({ type: 'updated', name });
  }

  async #open(name: string): Promise<FollowedDatabase> {
    const listed = this.#content.entries.get(name);
    if (listed === undefined) throw new DatabaseError('not_found', 'no_db_file');
    const database = await this.#follow(name, listed.file).catch((error: unknown) => {
      // It was deleted a moment ago, or it is damaged: the owner knows.
      throw isDatabaseError(error, 'storage_missing') ? readOnlyError(name) : error;
    });
    database.onChange(() => {
      if (this.has(name)) this.#emit({ type: 'updated', name });
    });
    return database;
  }

  async #follow(name: string, fileName: string): Promise<FollowedDatabase> {
    const { store, clock, log, counters } = this.#options;
    const file = await followFile(store, fileName);
    const onSecurity = () => this.#options.onSecurity(name);
    const shared = { clock, log, cache: this.#cache, counters, supports: store.supports };
    return followDatabase({ ...shared, name, file, onSecurity });
  }

  get serverUuid(): string {
    return this.#content.serverUuid ?? '';
  }

  get settings(): string | undefined {
    return this.#content.settings?.text;
  }

  get notes(): ReadonlyMap<string, string> {
    return this.#content.notes;
  }

  get openCount(): number {
    return this.#handles.size;
  }

  names(): readonly string[] {
    return [...this.#content.entries.keys()].sort();
  }

  has(name: string): boolean {
    return this.#content.entries.has(name);
  }

  peek(name: string): Database | undefined {
    return this.#handles.peek(name);
  }

  use<T>(name: string, use: (database: Database) => MaybePromise<T>): MaybePromise<T> {
    return whenReady(this.#lease(name), (lease) =>
      withEnd(
        () => use(lease.database),
        () => lease.release(),
      ),
    );
  }

  async acquire(name: string): Promise<Lease> {
    return this.#lease(name);
  }

  #lease(name: string): MaybePromise<Lease> {
    if (this.#isClosed) throw shutDown();
    if (!this.has(name)) throw new DatabaseError('not_found', 'no_db_file');
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
      await this.refresh();
      for (const [name, watched] of this.#watched) {
        if (timeSlice.isDue) await timeSlice.rest();
        if (!this.has(name)) continue;
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
    this.#emit({ type: 'updated', name });
  }

  #noteFailure(error: unknown): void {
    if (isDatabaseError(error)) this.#options.log.debug(`looking for changes failed: ${error.reason}`);
    else this.#options.log.error('looking for changes failed', error);
  }

  onEvent(listener: (event: DatabaseEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #emit(event: DatabaseEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  keepSettings(): Promise<never> {
    return refuse();
  }

  keepNote(): Promise<never> {
    return refuse();
  }

  create(): Promise<never> {
    return refuse();
  }

  createIfMissing(): Promise<never> {
    return refuse();
  }

  createByWriting(): Promise<never> {
    return refuse();
  }

  delete(): Promise<never> {
    return refuse();
  }

  verifyList(): Promise<never> {
    return refuse();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopTimer?.();
    await this.#reading?.catch(() => undefined);
    await this.#handles.close();
    await this.#openedList?.close();
    await this.#options.store.close();
  }
}

function isSame(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean {
  return one.size === other.size && [...one].every(([key, value]) => other.get(key) === value);
}

async function refuse(): Promise<never> {
  throw readOnlyError('the list of databases');
}

async function followFile(store: PageStore, file: string): Promise<FollowedFile> {
  const followed = await store.follow?.(file);
  return must(followed, 'this storage can be read by several processes');
}
