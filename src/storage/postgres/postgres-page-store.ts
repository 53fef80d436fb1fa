import { crc32 } from 'node:zlib';
import type { Metric } from '../../base/system/contract.ts';
import { assertFileName, isFileName } from '../backend-checks.ts';
import { OpenFiles } from '../open-files.ts';
import {
  type FollowedFile,
  MAX_PAGE_BYTES,
  type PageFile,
  type PageStore,
  type PageStoreSupport,
} from '../page-store.ts';
import { storageMissing, storageNewerFormat } from '../storage-errors.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { DurableHistory } from './durable-history.ts';
import { AwaitedFollowers } from './following/awaited-followers.ts';
import { PostgresFollowedFile } from './following/followed-file.ts';
import { Follower } from './following/follower.ts';
import { Polls } from './following/polls.ts';
import { readMetrics } from './monitoring/storage-metrics.ts';
import { createFile, type Ownership, openFile } from './ownership.ts';
import { toDatabaseError } from './postgres-errors.ts';
import { PostgresPageFile } from './postgres-page-file.ts';
import { ReadAheadRoom } from './read-ahead.ts';
import { RemovedFiles } from './removed-files.ts';
import { FILE_FORMAT } from './schema.ts';
import { StatementSets } from './statements.ts';
import { numberOf } from './values.ts';

/**
 * Makes a store of files in the tables that `prepareSchema` makes. It does not close the pool. Several stores may use the same tables: fencing keeps
 * them from harming each other. `StorageLease` keeps two servers from taking files from each other all the time.
 *
 * `history`: shared by the stores that this process opens on these tables, one after another. Once it has found that the database has gone back to an
 * earlier state, opening a file fails with `storage_rolled_back`.
 */
export function createPostgresPageStore(
  pool: ConnectionPool,
  history = new DurableHistory(),
  { followerLeaseMs }: PostgresPageStoreOptions = {},
): PageStore {
  return new PostgresPageStore(pool, history, followerLeaseMs);
}

export interface PostgresPageStoreOptions {
  /** How long owners wait for this process if it follows files and is silent, in milliseconds. Default: 12 seconds. */
  readonly followerLeaseMs?: number | undefined;
}

class PostgresPageStore implements PageStore {
  readonly supports: PageStoreSupport = {
    backend: 'postgres',
    // PostgreSQL stores values of more than 2 KB in pieces of 1,996 bytes. A trip costs more than a few of them.
    leafBytes: 4 * 1996 - 16,
    bodyPageBytes: 16 * 1996 - 16,
    maxPageBytes: MAX_PAGE_BYTES,
    crc32,
    shrinks: true,
    persistent: true,
  };
  readonly #pool: ConnectionPool;
  readonly #statements: StatementSets;
  readonly #removed: RemovedFiles;
  readonly #open = new OpenFiles<PostgresPageFile | PostgresFollowedFile>();
  readonly #follower: Follower;
  readonly #polls: Polls;
  readonly #awaited: AwaitedFollowers;
  readonly #room = new ReadAheadRoom();
  /** What the database server lost of files that are to be opened again, as a sentence. */
  readonly #losses = new Map<string, string>();

  readonly #history: DurableHistory;

  constructor(pool: ConnectionPool, history: DurableHistory, followerLeaseMs: number | undefined) {
    this.#pool = pool;
    this.#follower = new Follower(pool, followerLeaseMs);
    this.#polls = new Polls(pool);
    this.#awaited = new AwaitedFollowers(pool);
    this.#history = history;
    this.#statements = new StatementSets(pool.address.schema);
    this.#removed = new RemovedFiles(pool, this.#statements);
  }

  async list(): Promise<string[]> {
    this.#open.mustBeOpen();
    return this.#named('*', 'listing files', async () => {
      this.#removed.sweep();
      const { list } = this.#statements.common;
      const rows = await this.#pool.repeat('listing files', (connection) => connection.query(list));
      // Others are copies that are being made (copying/file-target.ts).
      return rows
        .map((row) => String(row['name']))
        .filter(isFileName)
        .sort();
    });
  }

  open(file: string, mode: 'create' | 'open'): Promise<PageFile> {
    return this.#open.open(async () => {
      assertFileName(file);
      this.#history.mustBeWhole();
      const ownership = await this.#named(file, 'opening it', () => this.#own(file, mode));
      this.#history.noteEpoch(ownership.id, ownership.opening.epoch);
      const loss = this.#losses.get(file);
      this.#losses.delete(file);
      return new PostgresPageFile({
        name: file,
        pool: this.#pool,
        statements: this.#statements.of(ownership.id),
        ownership: loss === undefined ? ownership : { ...ownership, opening: { ...ownership.opening, loss } },
        support: this.supports,
        room: this.#room,
        onLoss: (found) => this.#losses.set(file, found),
        history: this.#history,
        followers: this.#awaited,
        onClosed: (closed) => this.#open.forget(closed),
      });
    });
  }

  follow(file: string): Promise<FollowedFile> {
    return this.#open.open(async () => {
      assertFileName(file);
      this.#history.mustBeWhole();
      const { seek } = this.#statements.common;
      const what = 'following it';
      const ask = () => this.#pool.repeat(what, (connection) => connection.query(seek, [file]));
      const [found] = await this.#named(file, what, ask);
      if (found === undefined) throw storageMissing(file);
      const format = numberOf(found['format']);
      if (format > FILE_FORMAT) throw storageNewerFormat(file, format, FILE_FORMAT);
      const id = String(found['id']);
      return new PostgresFollowedFile({
        ...{ name: file, id, pool: this.#pool, statements: this.#statements.of(id), room: this.#room },
        ...{ history: this.#history, follower: this.#follower, polls: this.#polls },
        onClosed: (closed) => this.#open.forget(closed),
      });
    });
  }

  async destroy(file: string): Promise<void> {
    this.#open.mustBeOpen();
    assertFileName(file);
    await Promise.all(this.#open.named(file).map((open) => open.discard()));
    const { remove } = this.#statements.common;
    const what = 'removing it';
    await this.#named(file, what, () => this.#pool.repeat(what, (connection) => connection.query(remove, [file])));
    this.#removed.sweep();
  }

  #own(file: string, mode: 'create' | 'open'): Promise<Ownership> {
    const [pool, { common }] = [this.#pool, this.#statements];
    return mode === 'create' ? createFile(pool, common, file) : openFile(pool, common, file, this.#history);
  }

  get openFiles(): number {
    return this.#open.size;
  }

  metrics(): Promise<readonly Metric[]> {
    return readMetrics(this.#pool);
  }

  async close(): Promise<void> {
    await this.#open.close();
    await this.#follower.close();
    await this.#removed.close();
  }

  async #named<T>(file: string, what: string, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      throw toDatabaseError(error, file, what);
    }
  }
}
