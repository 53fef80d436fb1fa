import type { CacheBudget } from '../../base/shared/cache-budget.ts';
import type { Clock, RandomBytes } from '../../base/shared/clock.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { ActiveTasks } from '../../base/system/active-tasks.ts';
import type { Config, Log } from '../../base/system/contract.ts';
import type { JournalRecord, PageStore } from '../../storage/page-store.ts';
import type { Md5 } from '../documents/md5.ts';
import type { CreateWriteGuard, Database, DatabaseCounters, VerifyReport } from '../store/contract.ts';
import type { DatabaseSettings } from '../store/settings.ts';

/**
 * The databases that exist, and the handles that are open. Names are those of docs/http/databases.md#database-names, plus the
 * system databases that begin with `_`.
 */
export interface Registry {
  /** The service's own uuid, made at the first start and kept; new if the storage came back empty. */
  readonly serverUuid: string;
  /** JSON text of the settings, kept with the list of databases; undefined if none was kept yet. */
  readonly settings: string | undefined;
  /** Replaces that text. Resolves when the text would survive a crash. */
  keepSettings(text: string): Promise<void>;
  /** Texts that parts of the service keep with the list of databases, by the names that those parts choose. */
  readonly notes: ReadonlyMap<string, string>;
  /**
   * Keeps a text under that name, in place of the former one; undefined removes it. Resolves when a text would survive a crash; a removal
   * may be lost in one. Fails with `conflict` if `former` is given, and another text was kept since.
   */
  keepNote(name: string, text: string | undefined, former?: FormerNote): Promise<void>;
  /** The number of databases that are open now. */
  readonly openCount: number;
  /** How many of them this process owns. Only if several processes own databases. */
  readonly ownedCount?: number;
  /** Returns the names, sorted by code point. */
  names(): readonly string[];
  has(name: string): boolean;
  /** Creates a database. Fails with `illegal_database_name` or `file_exists`. */
  create(name: string): Promise<void>;
  /** Like `create`; returns false, and changes nothing, if there is a database of that name. */
  createIfMissing(name: string): Promise<boolean>;
  /**
   * Runs `write` with a registry in which the database exists. If it did not exist it is created with what `write` has written by its end,
   * however `write` ends; if that is nothing, no database is created, and no one else has seen anything.
   */
  createByWriting<T>(name: string, write: (registry: Registry) => MaybePromise<T>): Promise<T>;
  /** Fails with `not_found` "missing" if there is none. Closes its handle; reads under way fail with `storage_deleted`. */
  delete(name: string): Promise<void>;
  /**
   * Runs `use` with the open database, which stays open at least until its promise settles: in the same turn if it
   * is open already.
   * Fails with `not_found` "no_db_file" if there is none.
   */
  use<T>(name: string, use: (database: Database) => MaybePromise<T>): MaybePromise<T>;
  /** Returns the database if it is open already: for use in this turn, since nothing keeps it open. */
  peek(name: string): Database | undefined;
  /** Like `use`, for work that outlives one function, such as a streamed response. */
  acquire(name: string): Promise<Lease>;
  /** Walks the list of databases itself, and reports damage. */
  verifyList(): Promise<VerifyReport>;
  onEvent(listener: (event: DatabaseEvent) => void): () => void;
  /**
   * Makes the list, its texts and the databases that decide who may do what contain all that was committed before this call: in the same turn if
   * there is nothing new and the storage answers at once. Only if another process owns the databases: `use` and `acquire` then do the same for
   * the database that they return, all that changes something fails with `not_owner`, and events come late.
   */
  refresh?(): MaybePromise<void>;
  /**
   * For how many milliseconds no look at the list and the databases of other processes has succeeded; 0 if the last one did. Begins another look at the
   * list. Only with `refresh`.
   */
  lagMs?(): number | undefined;
  /** Has changes of the database noticed, within `FOLLOWED_EACH_MS`, even if no request reads it. Returns the function that ends it. Only with `refresh`. */
  watch?(name: string): () => void;
  /**
   * Gives up the databases that this process does not own any more, after requests that use them have ended, or a few seconds. `beforeClose` ends
   * what depends on a database. Never fails. Only if several processes own databases.
   */
  rearrange?(beforeClose: (name: string) => Promise<void>): Promise<void>;
  /** Tells listeners that another process has changed documents of that database. Only if several processes own databases. */
  noteUpdate?(name: string): void;
  close(): Promise<void>;
}

/** Which databases this process owns, if several processes share them. It may change at any time. */
export interface Placement {
  /** Whether this process answers for the database as its owner now. */
  owns(name: string): boolean;
  /** Resolves when no other process does any more, so that this one may open it. Fails with `not_owner` if this one does not own it then. */
  whenFree(name: string): Promise<void>;
}

/** How often databases are looked at that another process owns, while someone waits for their changes. */
export const FOLLOWED_EACH_MS = 50;

/** The text in place of which another one is kept; undefined if there is none. */
export interface FormerNote {
  readonly text: string | undefined;
}

export interface Lease {
  readonly database: Database;
  release(): void;
}

export interface DatabaseEvent {
  readonly type: 'created' | 'updated' | 'deleted';
  readonly name: string;
}

/** The parts of a registry. */
export interface RegistryOptions {
  readonly store: PageStore;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly config: Config;
  readonly log: Log;
  readonly settings?: Partial<DatabaseSettings>;
  /** What all databases together keep for reading; without one they share a budget of `settings.cacheBytes`. */
  readonly cache?: CacheBudget;
  /** Validates writes to the databases; without one all are accepted. */
  readonly createGuard?: CreateWriteGuard;
  /** Shows compactions; without it they are not shown. */
  readonly tasks?: ActiveTasks;
  /** Without them nothing is counted. */
  readonly counters?: DatabaseCounters;
  /** The host's own, if it has a faster one than WebAssembly. */
  readonly md5?: Md5 | undefined;
  /** Which databases this process may open as their owner. Default: all, at once. */
  readonly placement?: Placement | undefined;
  /** If given, damaged journals are cut off instead of refused. */
  readonly onDamagedRecord?: ((file: string, number: number, behind: readonly JournalRecord[]) => void) | undefined;
}
