import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { Database, VerifyReport } from '../store/contract.ts';

/**
 * Which databases there are, and the handles that are open. Names are those of docs/http/databases.md#database-names, plus the
 * system databases that begin with `_`.
 */
export interface Registry {
  /** The service's own uuid, made at first start and kept; new where the storage came back empty. */
  readonly serverUuid: string;
  /** JSON text that is kept with the list of databases, for the settings; undefined where there was none yet. */
  readonly settings: string | undefined;
  /** Keeps such text in the place of what was there. Resolves when it would survive a crash. */
  keepSettings(text: string): Promise<void>;
  /** Texts that parts of the service keep with the list of databases, by the names that they give them. */
  readonly notes: ReadonlyMap<string, string>;
  /**
   * Keeps a text under that name, in the place of what was there; undefined removes it. Resolves when a text would survive a crash; a removal
   * may be lost in one.
   */
  keepNote(name: string, text: string | undefined): Promise<void>;
  /** How many databases are open at the moment. */
  readonly openCount: number;
  /** Sorted by code point. */
  names(): readonly string[];
  has(name: string): boolean;
  /** `illegal_database_name`, `file_exists`. */
  create(name: string): Promise<void>;
  /** As `create`; gives false, and changes nothing, where there is one of that name. */
  createIfMissing(name: string): Promise<boolean>;
  /**
   * Runs `write` with a registry in which the database is there. Where there was none it is created with what `write` had written by its end,
   * however that came; where that is nothing, nothing was created, and nobody else has seen anything.
   */
  createByWriting<T>(name: string, write: (registry: Registry) => MaybePromise<T>): Promise<T>;
  /** `not_found` "missing" where there is none. Closes its handle; reads under way fail with `storage_deleted`. */
  delete(name: string): Promise<void>;
  /**
   * Runs `use` with the open database, which stays open at least until its promise settles: in the same turn where it
   * is open already.
   * `not_found` "no_db_file" where there is none.
   */
  use<T>(name: string, use: (database: Database) => MaybePromise<T>): MaybePromise<T>;
  /** The database where it is open already: for use in this turn, since nothing keeps it open. */
  peek(name: string): Database | undefined;
  /** As `use` for work that outlives one function, such as a streamed answer. */
  acquire(name: string): Promise<Lease>;
  /** Walks the list of databases itself, and reports damage. */
  verifyList(): Promise<VerifyReport>;
  onEvent(listener: (event: DatabaseEvent) => void): () => void;
  close(): Promise<void>;
}

export interface Lease {
  readonly database: Database;
  release(): void;
}

export interface DatabaseEvent {
  readonly type: 'created' | 'updated' | 'deleted';
  readonly name: string;
}
