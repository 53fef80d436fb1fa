import type { Database } from '../database/contract.ts';
import { type OpenParts, openDatabase } from '../database/open-database.ts';
import type { DatabaseSettings } from '../database/settings.ts';
import type { StoredDatabase } from '../database/stored-database.ts';
import type { DocId } from '../documents/contract.ts';
import { createRevisionHasher, type RevisionHasher } from '../documents/revision-hash.ts';
import { DatabaseError } from '../errors/database-error.ts';
import type { Clock, RandomBytes } from '../shared/clock.ts';
import type { PageStore } from '../storage/page-store.ts';
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

/** What the list says of one database. A dropped one is a file that may still have to be removed. */
interface Listed {
  readonly file: string;
  readonly state: 'live' | 'dropped';
  readonly rev: string;
}

/** Opens the list of databases, or begins one, and finishes removals that an earlier run left undone. */
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
  #serverUuid = '';
  #closed = false;

  constructor(parts: RegistryParts, hasher: RevisionHasher, list: StoredDatabase) {
    this.#parts = parts;
    this.#hasher = hasher;
    this.#list = list;
    const maxOpen = Number(parts.config.get('svc', 'max_dbs_open') ?? 100);
    this.#handles = new HandleCache(maxOpen, (name, onFailure) => this.#open(name, onFailure));
  }

  async load(): Promise<void> {
    const snapshot = this.#list.snapshot();
    try {
      for await (const locals of snapshot.locals({})) {
        for (const { id, rev, body } of locals) {
          if (id === SERVER_KEY) this.#serverUuid = (JSON.parse(body) as { uuid: string }).uuid;
          if (!id.startsWith(NAME_PREFIX)) continue;
          const { file, state } = JSON.parse(body) as Omit<Listed, 'rev'>;
          this.#listed.set(id.slice(NAME_PREFIX.length), { file, state, rev });
        }
      }
    } finally {
      snapshot.release();
    }
    if (this.#serverUuid === '') await this.#createServerUuid();
    await this.#finishRemovals();
  }

  async #createServerUuid(): Promise<void> {
    this.#serverUuid = this.#randomHex(16);
    await this.#list.writeLocal(SERVER_KEY, undefined, JSON.stringify({ uuid: this.#serverUuid }), 'strict');
  }

  #randomHex(bytes: number): string {
    const random = this.#parts.random(new Uint8Array(bytes));
    return Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('');
  }

  /** Files that the list gave up, and files that it never came to name, are removed. */
  async #finishRemovals(): Promise<void> {
    for (const [name, { state }] of [...this.#listed]) if (state === 'dropped') await this.#remove(name);
    const known = new Set([REGISTRY_FILE, ...[...this.#listed.values()].map(({ file }) => file)]);
    for (const file of await this.#parts.store.list()) {
      if (known.has(file)) continue;
      this.#parts.log.info(`removing ${file}, which belongs to no database`);
      await this.#parts.store.destroy(file);
    }
  }

  get serverUuid(): string {
    return this.#serverUuid;
  }

  names(): readonly string[] {
    const live = [...this.#listed].filter(([, { state }]) => state === 'live');
    return live.map(([name]) => name).sort();
  }

  has(name: string): boolean {
    return this.#listed.get(name)?.state === 'live';
  }

  create(name: string): Promise<void> {
    checkDatabaseName(name);
    return this.#inOrder(async () => {
      if (this.has(name)) {
        throw new DatabaseError('file_exists', 'The database could not be created, the file already exists.');
      }
      if (this.#listed.has(name)) await this.#remove(name);
      await this.#createFile(name);
      this.#emit({ type: 'created', name });
    });
  }

  async #createFile(name: string): Promise<void> {
    const fileName = createFileName(name, `${this.#parts.clock.now().toString(36)}${this.#randomHex(4)}`);
    const file = await this.#parts.store.open(fileName, 'create');
    const database = await openDatabase(this.#databaseParts(name, file, () => this.#handles.forget(name)));
    try {
      await this.#store(name, { file: fileName, state: 'live' });
    } catch (error) {
      await database.close();
      await this.#parts.store.destroy(fileName);
      throw error;
    }
    this.#handles.add(name, this.#watched(name, database));
  }

  #databaseParts(name: string, file: OpenParts['file'], onFailure: (error: unknown) => void): OpenParts {
    return openParts(this.#parts, this.#hasher, name, file, onFailure);
  }

  #watched(name: string, database: StoredDatabase): StoredDatabase {
    database.onChange(() => this.#emit({ type: 'updated', name }));
    return database;
  }

  async #store(name: string, listed: Omit<Listed, 'rev'>): Promise<void> {
    const id = `${NAME_PREFIX}${name}` as DocId;
    const rev = await this.#list.writeLocal(id, this.#listed.get(name)?.rev, JSON.stringify(listed), 'strict');
    this.#listed.set(name, { ...listed, rev });
  }

  async #remove(name: string): Promise<void> {
    const listed = this.#listed.get(name);
    if (listed === undefined) return;
    await this.#parts.store.destroy(listed.file);
    await this.#list.writeLocal(`${NAME_PREFIX}${name}` as DocId, listed.rev, undefined, 'relaxed');
    this.#listed.delete(name);
  }

  /** The list is told first: from then on the database is gone, whatever happens to its file. */
  delete(name: string): Promise<void> {
    return this.#inOrder(async () => {
      const listed = this.#listed.get(name);
      if (listed?.state !== 'live') throw new DatabaseError('not_found', 'missing');
      await this.#store(name, { file: listed.file, state: 'dropped' });
      this.#emit({ type: 'deleted', name });
      await this.#handles.drop(name);
      await this.#remove(name);
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
    if (!this.has(name)) throw new DatabaseError('not_found', 'no_db_file');
    return this.#handles.lease(name);
  }

  async #open(name: string, onFailure: () => void): Promise<StoredDatabase> {
    const listed = this.#listed.get(name);
    if (listed?.state !== 'live') throw new DatabaseError('not_found', 'no_db_file');
    const file = await this.#parts.store.open(listed.file, 'open');
    try {
      return this.#watched(name, await openDatabase(this.#databaseParts(name, file, onFailure)));
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  onEvent(listener: (event: DatabaseEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #emit(event: DatabaseEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  #inOrder<T>(change: () => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new DatabaseError('storage_closed', 'The service is shutting down.'));
    const result = this.#changes.then(change);
    this.#changes = result.catch(() => undefined);
    return result;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#changes;
    await this.#handles.close();
    await this.#list.close();
    await this.#parts.store.close();
  }
}
