import { assert } from '../../base/shared/assert.ts';
import { crc32 } from '../../base/shared/crc32.ts';
import { assertFileName, isFileName } from '../backend-checks.ts';
import { FileLife, OpenFiles } from '../open-files.ts';
import { MAX_PAGE_BYTES, type PageFile, type PageStore, type PageStoreSupport } from '../page-store.ts';
import { deleteDatabase, type LossReason, openConnection, watchConnection } from './connection.ts';
import { FIRST_CLAIM } from './file-claim.ts';
import { toDatabaseError, withDeadline } from './indexeddb-errors.ts';
import { IndexedDbPageFile } from './indexeddb-page-file.ts';
import type { LoadJournalFiles } from './journal-files.ts';
import { type Ownership, takeOwnership } from './ownership.ts';
import { ReadAheadRoom } from './read-ahead.ts';
import type { FileDatabase } from './schema.ts';
import { type EarlyCommits, earlyCommitsFor } from './write-transaction.ts';

export interface IndexedDbPageStoreOptions {
  /** What the names of this store's databases begin with; other databases of the origin are never touched. */
  readonly prefix: string;
  /** The host's own by default. */
  readonly indexedDB?: IDBFactory | undefined;
  /** Default 3,000 ms: then blocked operations fail (`storage_blocked`). Tripled for commits and reads during page commits, not closing flushes. */
  readonly deadlineMs?: number | undefined;
  /** Default: what suits the browser. */
  readonly earlyCommits?: EarlyCommits | undefined;
  /** Where journal records that come alone go. Without it all go to IndexedDB, and files that have records elsewhere can't be opened. */
  readonly journalFiles?: LoadJournalFiles | undefined;
  /** Called when the browser or another tab closed an open file. */
  readonly onLost?: ((file: string, why: LossReason) => void) | undefined;
}

/** Makes a store with each file in its own IndexedDB database. Works in pages and all kinds of workers. */
export function createIndexedDbPageStore(options: IndexedDbPageStoreOptions): PageStore {
  return new IndexedDbPageStore(options);
}

class IndexedDbPageStore implements PageStore {
  readonly supports: PageStoreSupport = {
    backend: 'indexeddb',
    leafBytes: 16_000,
    // Stored as 64 KiB or less: beyond that, Chromium keeps a value as a Blob, and reading it takes twice as long.
    bodyPageBytes: 65_400,
    maxPageBytes: MAX_PAGE_BYTES,
    crc32,
    shrinks: true,
    persistent: true,
  };
  readonly #factory: IDBFactory;
  readonly #prefix: string;
  readonly #deadlineMs: number;
  readonly #earlyCommits: EarlyCommits;
  readonly #options: IndexedDbPageStoreOptions;
  readonly #open = new OpenFiles<IndexedDbPageFile>();
  readonly #room = new ReadAheadRoom();

  constructor(options: IndexedDbPageStoreOptions) {
    const { prefix, indexedDB: factory = indexedDB, deadlineMs = 3000 } = options;
    assert(prefix.length > 0, 'the prefix of a store must not be empty');
    this.#factory = factory;
    this.#prefix = prefix;
    this.#deadlineMs = deadlineMs;
    this.#earlyCommits = options.earlyCommits ?? earlyCommitsFor(globalThis.navigator?.userAgent);
    this.#options = options;
  }

  async list(): Promise<string[]> {
    this.#open.mustBeOpen();
    const deadline = { file: '*', what: 'listing files', deadlineMs: this.#deadlineMs };
    try {
      const databases = await withDeadline(this.#factory.databases(), deadline);
      // WebKit still lists a database whose creation was aborted, under version 0.
      return databases.flatMap(({ name, version }) => (version === 0 ? [] : (this.#fileOf(name) ?? []))).sort();
    } catch (error) {
      throw toDatabaseError(error, deadline.file, deadline.what);
    }
  }

  open(file: string, mode: 'create' | 'open'): Promise<PageFile> {
    return this.#open.open(async () => {
      assertFileName(file);
      const { database, isNew } = await openConnection({
        factory: this.#factory,
        file,
        databaseName: this.#prefix + file,
        mode,
        deadlineMs: this.#deadlineMs,
      });
      const life = new FileLife();
      watchConnection(file, database, life, (why) => this.#options.onLost?.(file, why));
      const ownership = isNew ? FIRST_CLAIM : await this.#own(file, database, life);
      return new IndexedDbPageFile({
        name: file,
        database,
        life,
        ownership,
        support: this.supports,
        deadlineMs: this.#deadlineMs,
        earlyCommits: this.#earlyCommits,
        room: this.#room,
        journalFiles: this.#options.journalFiles,
        onClosed: (closed) => this.#open.forget(closed),
      });
    });
  }

  async destroy(file: string): Promise<void> {
    this.#open.mustBeOpen();
    assertFileName(file);
    await Promise.all(this.#open.named(file).map((open) => open.discard()));
    const deadline = { file, what: 'removing it', deadlineMs: this.#deadlineMs };
    const databaseName = this.#prefix + file;
    const removal = this.#options.journalFiles?.().then((files) => files.destroy(databaseName));
    // If segments stay, no one mistakes them for a later file's.
    if (removal !== undefined) await withDeadline(removal, deadline).catch(() => undefined);
    await deleteDatabase(this.#factory, databaseName, deadline);
  }

  get openFiles(): number {
    return this.#open.size;
  }

  close(): Promise<void> {
    return this.#open.close();
  }

  async #own(file: string, database: FileDatabase, life: FileLife): Promise<Ownership> {
    const deadline = { file, what: 'taking ownership', deadlineMs: this.#deadlineMs };
    try {
      return await withDeadline(takeOwnership({ ...this.#options, file, database }), deadline);
    } catch (error) {
      database.close();
      throw life.refusal() ?? toDatabaseError(error, file, deadline.what);
    }
  }

  #fileOf(databaseName: string | undefined): string | undefined {
    if (databaseName?.startsWith(this.#prefix) !== true) return undefined;
    const file = databaseName.slice(this.#prefix.length);
    return isFileName(file) ? file : undefined;
  }
}
