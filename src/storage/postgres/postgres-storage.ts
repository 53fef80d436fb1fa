import { DatabaseError } from '../../base/errors/database-error.ts';
import type { PageStore } from '../page-store.ts';
import { ConnectionPool } from './connection-pool.ts';
import { DurableHistory } from './durable-history.ts';
import { connectionRefused } from './postgres-errors.ts';
import { createPostgresPageStore } from './postgres-page-store.ts';
import { prepareSchema } from './schema.ts';
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
  static async open(url: string, environment: Readonly<Record<string, string | undefined>>): Promise<PostgresStorage> {
    const pool = await ConnectionPool.open(await readStorageUrl(url, environment));
    try {
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

  createStore(): PageStore {
    return createPostgresPageStore(this.#pool, this.history);
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
