import type { Database } from '../database/contract.ts';
import { type OpenParts, openDatabase } from '../database/open-database.ts';
import type { DatabaseSettings } from '../database/settings.ts';
import type { StoredDatabase } from '../database/stored-database.ts';
import type { DocId } from '../documents/contract.ts';
import { createRevisionHasher, type RevisionHasher } from '../documents/revision-hash.ts';
import { DatabaseError, isDatabaseError } from '../errors/database-error.ts';
import type { Clock, RandomBytes } from '../shared/clock.ts';
import type { PageFile, PageStore } from '../storage/page-store.ts';
import type { Config, Log } from '../system/contract.ts';
import type { DatabaseEvent, Lease, Registry } from './contract.ts';
import { checkDatabaseName, createFileName } from './database-name.ts';
import { HandleCache } from './handle-cache.ts';

/** The file that holds the list of databases: itself a database, with one local document for each. */
export const REGISTRY_FILE = 'registry';

const NAME_PREFIX = '_local/database/';
const SERVER_KEY = '_local/server' as DocId;

export interface RegistryParts {
  readonly store: PageStore;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly config: Config;
  readonly log: Log;
  readonly settings?: Partial<DatabaseSettings>;
}

/** What the list says of one database. */
interface Listed {
  readonly file: string;
  readonly rev: string;
}

/** Opens the list of databases, or begins one, and sets about removals that an earlier run left undone. */
export async function openRegistry(parts: RegistryParts): Promise<Registry> {
  const hasher = await createRevisionHasher();
  const exists = (await parts.store.list()).includes(REGISTRY_FILE);
  const file = await parts.store.open(REGISTRY_FILE, exists ? 'open' : 'create');
  const list = await openDatabase(openParts(parts, hasher, REGISTRY_FILE, file, () => undefined));
  const registry = new StoredRegistry(parts, hasher, list);
  await registry.load();
  return registry;
}

function openParts(
  parts: RegistryParts,
  hasher: RevisionHasher,
  name: string,
  file: OpenParts['file'],
  onFailure: (error: unknown) => void,
): OpenParts {
  const { clock, random, log, settings, store } = parts;
  return {
    name,
    file,
    supports: store.supports,
    clock,
    random,
    log,
    hasher,
    onFailure,
    ...(settings ? { settings } : {}),
  };
}

class StoredRegistry implements Registry {
  readonly #parts: RegistryParts;
  readonly #hasher: RevisionHasher;
  readonly #list: StoredDatabase;
  readonly #handles: HandleCache;
  readonly #listed = new Map<string, Listed>();
  readonly #listeners = new Set<(event: DatabaseEvent) => void>();
  /** Creations and deletions happen one after another. */
  #changes: Promise<unknown> = Promise.resolve();
  /** Files on their way out. They may take long: a frozen tab can hold one. */
  readonly #removals = new Set<Promise<void>>();
  #serverUuid = '';
  #closed = false;

  constructor(parts: RegistryParts, hasher: RevisionHasher, list: StoredDatabase) {
    this.#parts = parts;
    this.#hasher = hasher;
    this.#list = list;
    const maxOpen = Number(parts.config.get('svc', 'max_dbs_open') ?? 100);
    this.#handles = new HandleCache(maxOpen, (name) => this.#open(name));
  }

  async load(): Promise<void> {
    const snapshot = this.#list.snapshot();
    try {
      for await (const locals of snapshot.locals({})) {
        for (const { id, rev, body } of locals) {
          if (id === SERVER_KEY) this.#serverUuid = (JSON.parse(body) as { uuid: string }).uuid;
          if (!id.startsWith(NAME_PREFIX)) continue;
          const { file } = JSON.parse(body) as Omit<Listed, 'rev'>;
          this.#listed.set(id.slice(NAME_PREFIX.length), { file, rev });
        }
      }
    } finally {
      snapshot.release();
    }
    if (this.#serverUuid === '') await this.#createServerUuid();
    await this.#removeUnlisted();
  }

  async #createServerUuid(): Promise<void> {
    this.#serverUuid = this.#randomHex(16);
    await this.#list.writeLocal(SERVER_KEY, undefined, JSON.stringify({ uuid: this.#serverUuid }), 'strict');
  }

  #randomHex(bytes: number): string {
    const random = this.#parts.random(new Uint8Array(bytes));
    return Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('');
  }

  /** Files that the list gave up, or that it never came to name, belong to nothing. */
  async #removeUnlisted(): Promise<void> {
    const known = new Set([REGISTRY_FILE, ...[...this.#listed.values()].map(({ file }) => file)]);
    for (const file of await this.#parts.store.list()) {
      if (known.has(file)) continue;
      this.#parts.log.info(`removing ${file}, which belongs to no database`);
      this.#removeFile(file);
    }
  }

  /** Nobody waits for it; what fails is tried again at the next start. */
  #removeFile(file: string): void {
    const removal: Promise<void> = this.#parts.store
      .destroy(file)
      .catch((error: unknown) =>
        this.#parts.log.error(`${file} could not be removed; it will be at the next start`, error),
      )
      .finally(() => this.#removals.delete(removal));
    this.#removals.add(removal);
  }

  get serverUuid(): string {
    return this.#serverUuid;
  }

  names(): readonly string[] {
    return [...this.#listed.keys()].sort();
  }

  has(name: string): boolean {
    return this.#listed.has(name);
  }

  async create(name: string): Promise<void> {
    checkDatabaseName(name);
    return this.#inOrder(async () => {
      if (this.has(name)) {
        throw new DatabaseError('file_exists', 'The database could not be created, the file already exists.');
      }
      await this.#createFile(name);
      this.#emit({ type: 'created', name });
    });
  }

  async #createFile(name: string): Promise<void> {
    const fileName = createFileName(name, `${this.#parts.clock.now().toString(36)}${this.#randomHex(4)}`);
    const database = await this.#openFile(name, await this.#parts.store.open(fileName, 'create'));
    try {
      const id = listId(name);
      const rev = await this.#list.writeLocal(id, undefined, JSON.stringify({ file: fileName }), 'strict');
      this.#listed.set(name, { file: fileName, rev });
    } catch (error) {
      await database.discard();
      // After anything else nobody knows whether the list has the name; the next start finds out.
      if (isDatabaseError(error, 'storage_full')) this.#removeFile(fileName);
      throw error;
    }
    this.#handles.add(name, database);
  }

  async #openFile(name: string, file: PageFile): Promise<StoredDatabase> {
    let opened: StoredDatabase | undefined;
    const onFailure = () => {
      if (opened !== undefined) this.#handles.forget(name, opened);
    };
    try {
      opened = await openDatabase(openParts(this.#parts, this.#hasher, name, file, onFailure));
    } catch (error) {
      await file.close().catch(() => undefined);
      throw error;
    }
    opened.onChange(() => this.#emit({ type: 'updated', name }));
    return opened;
  }

  /** The list is told first: from then on the database is gone, whatever becomes of its file. */
  delete(name: string): Promise<void> {
    return this.#inOrder(async () => {
      const listed = this.#listed.get(name);
      if (listed === undefined) throw new DatabaseError('not_found', 'missing');
      await this.#list.writeLocal(listId(name), listed.rev, undefined, 'strict');
      this.#listed.delete(name);
      await this.#handles.drop(name);
      this.#removeFile(listed.file);
      this.#emit({ type: 'deleted', name });
    });
  }

  async use<T>(name: string, use: (database: Database) => Promise<T>): Promise<T> {
    const lease = this.#handles.leaseNow(name) ?? (await this.acquire(name));
    try {
      return await use(lease.database);
    } finally {
      lease.release();
    }
  }

  async acquire(name: string): Promise<Lease> {
    if (this.#closed) throw shutDown();
    if (!this.has(name)) throw new DatabaseError('not_found', 'no_db_file');
    return this.#handles.lease(name);
  }

  async #open(name: string): Promise<StoredDatabase> {
    const listed = this.#listed.get(name);
    if (listed === undefined) throw new DatabaseError('not_found', 'no_db_file');
    return this.#openFile(name, await this.#parts.store.open(listed.file, 'open'));
  }

  onEvent(listener: (event: DatabaseEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #emit(event: DatabaseEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  #inOrder<T>(change: () => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(shutDown());
    const result = this.#changes.then(change);
    this.#changes = result.catch(() => undefined);
    return result;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#changes;
    // Each is closed whatever becomes of those before it; the first failure is told.
    try {
      await this.#handles.close();
    } finally {
      await Promise.allSettled(this.#removals);
      try {
        await this.#list.close();
      } finally {
        await this.#parts.store.close();
      }
    }
  }
}

function listId(name: string): DocId {
  return `${NAME_PREFIX}${name}` as DocId;
}

function shutDown(): DatabaseError {
  return new DatabaseError('storage_closed', 'The service is shutting down.');
}
