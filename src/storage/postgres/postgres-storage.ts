import { DatabaseError } from '../../base/errors/database-error.ts';
import type { FileTarget } from '../file-copy.ts';
import type { PageStore } from '../page-store.ts';
import { ConnectionPool } from './connection-pool.ts';
import { PostgresFileTarget } from './copying/file-target.ts';
import { PostgresSnapshot } from './copying/snapshot.ts';
import { DurableHistory } from './durable-history.ts';
import { connectionRefused } from './postgres-errors.ts';
import { createPostgresPageStore, type PostgresPageStoreOptions } from './postgres-page-store.ts';
import { hasSchema, prepareSchema } from './schema.ts';
import { SettingsTable } from './settings-table.ts';
import { type LeaseOptions, StorageLease } from './storage-lease.ts';
import { readStorageUrl } from './storage-url.ts';

/** What a server keeps in a PostgreSQL database: files, settings, and who owns them. */
export class PostgresStorage {
  readonly settings: SettingsTable;
  readonly history = new DurableHistory();
  readonly #pool: ConnectionPool;

  private constructor(pool: ConnectionPool) {
    this.#pool = pool;
    this.settings = new SettingsTable(pool);
  }

  /**
   * Connects, and prepares the tables. Rejects with `bad_request` if the URL can't be used, with `storage_failed` if the database server refuses, or
   * is not reached in time, with `storage_newer_format` if a later release has changed the tables.
   */
  static open(url: string, environment: Readonly<Record<string, string | undefined>>): Promise<PostgresStorage> {
    return PostgresStorage.#open(url, environment, async () => undefined);
  }

  /** Like `open`, and fails with `not_found` if no server has ever used that place, which stays as it is. */
  static openExisting(
    url: string,
    environment: Readonly<Record<string, string | undefined>>,
  ): Promise<PostgresStorage> {
    return PostgresStorage.#open(url, environment, async (pool) => {
      if (await hasSchema(pool)) return;
      const reason = `There is no storage at ${pool.address.place}. Check the database and the schema (…?schema=NAME) in its URL.`;
      throw new DatabaseError('not_found', reason);
    });
  }

  static async #open(
    url: string,
    environment: Readonly<Record<string, string | undefined>>,
    check: (pool: ConnectionPool) => Promise<void>,
  ): Promise<PostgresStorage> {
    const pool = await ConnectionPool.open(await readStorageUrl(url, environment));
    try {
      await check(pool);
      await prepareSchema(pool);
      return new PostgresStorage(pool);
    } catch (error) {
      await pool.close();
      throw error instanceof DatabaseError ? error : connectionRefused(pool.address.place, error);
    }
  }

  /** Where it is, without the password. */
  get place(): string {
    return this.#pool.address.place;
  }

  createStore(options: PostgresPageStoreOptions = {}): PageStore {
    return createPostgresPageStore(this.#pool, this.history, options);
  }

  /** All files as they are now. To be closed. */
  createSnapshot(): Promise<PostgresSnapshot> {
    return PostgresSnapshot.open(this.#pool);
  }

  /** For the owner of the storage. */
  createFileTarget(): FileTarget {
    return new PostgresFileTarget(this.#pool);
  }

  openLease(options: LeaseOptions): Promise<StorageLease> {
    return StorageLease.open(this.#pool, this.history, options);
  }

  /** Operations that wait until the database server is reached again fail soon: nothing is left that could wait for them. */
  beginClose(): void {
    this.#pool.beginClose();
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }
}
