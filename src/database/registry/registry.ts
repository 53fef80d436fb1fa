import { DatabaseError } from '../../base/errors/database-error.ts';
import { must } from '../../base/shared/assert.ts';
import { randomHex } from '../../base/shared/bytes.ts';
import { CacheBudget } from '../../base/shared/cache-budget.ts';
import { type MaybePromise, whenReady, withEnd } from '../../base/shared/maybe-promise.ts';
import { createRevisionHasher, type RevisionHasher } from '../documents/revisions/revision-hash.ts';
import type { Database, VerifyReport } from '../store/contract.ts';
import { defaultSettings } from '../store/settings.ts';
import type { StoredDatabase } from '../store/stored-database.ts';
import type { DatabaseEvent, FormerNote, Lease, Registry, RegistryOptions } from './contract.ts';
import { DatabaseList, REGISTRY_FILE } from './database-list.ts';
import { checkDatabaseName, createFileName, databaseFileOf } from './database-name.ts';
import { type Draft, isWritten, RegistryWithDraft } from './draft.ts';
import { type HandleCache, shutDown } from './handle-cache.ts';
import { ListChanges } from './list-changes.ts';
import { OwnedDatabases } from './owned-databases.ts';
import { FileRemovals, findUnlisted, nameForUnknown } from './unlisted-files.ts';

/** Opens the list of databases, or begins one, and resumes the removals that an earlier run left undone. */
export async function openRegistry(options: RegistryOptions): Promise<StoredRegistry> {
  const [files, hasher] = await Promise.all([options.store.list(), createRevisionHasher(options.md5)]);
  const registry = new StoredRegistry(options, hasher);
  await registry.open(files);
  return registry;
}

export class StoredRegistry implements Registry {
  /** The databases that are open. */
  readonly owned: OwnedDatabases;
  readonly #options: RegistryOptions;
  readonly #handles: HandleCache<StoredDatabase>;
  readonly #listeners = new Set<(event: DatabaseEvent) => void>();
  #openedList: DatabaseList | undefined;
  /** By the names that they will have. */
  readonly #drafts = new Map<string, Draft>();
  /** Databases whose deletion may or may not be in the list. Reading the list again finds out. */
  readonly #uncertain = new Set<string>();
  readonly #changes: ListChanges;
  readonly #removals: FileRemovals;
  #closed = false;

  constructor(options: RegistryOptions, hasher: RevisionHasher) {
    const cache = options.cache ?? new CacheBudget(options.settings?.cacheBytes ?? defaultSettings.cacheBytes);
    this.#options = { ...options, cache };
    const isLost = () => this.#list.isLost;
    this.#changes = new ListChanges({ isLost, recover: () => this.#recover(), log: options.log });
    this.#removals = new FileRemovals(options.store, options.log, (file) => this.#removed(file));
    this.owned = new OwnedDatabases({
      ...{ ...this.#options, hasher },
      fileOf: (name) => this.fileOf(name),
      onUpdate: (name) => this.#emit({ type: 'updated', name }),
    });
    this.#handles = this.owned.handles;
  }

  /** `files`: the store's files. */
  async open(files: readonly string[]): Promise<void> {
    let found: readonly string[] | undefined = files;
    this.#openedList = await DatabaseList.open({
      open: async (onFailure) => {
        const { store } = this.#options;
        const exists = (found ?? (await store.list())).includes(REGISTRY_FILE);
        // If the list is opened again, the browser may have cleared the site's data.
        found = undefined;
        const file = await store.open(REGISTRY_FILE, exists ? 'open' : 'create');
        return this.owned.openIn(REGISTRY_FILE, file, onFailure);
      },
      newUuid: () => randomHex(this.#options.random, 16),
      onLost: () => this.#changes.lost(),
    });
    await this.#sortUnlisted(files);
    this.#forgetMissing(files);
  }

  get #list(): DatabaseList {
    return must(this.#openedList, 'the registry is used after it was opened');
  }

  /**
   * Files that the list dropped, or never named, belong to nothing. An unknown database belongs to a later
   * list: a user who restored an older list does not want to lose it.
   */
  async #sortUnlisted(files: readonly string[]): Promise<void> {
    const { store, log } = this.#options;
    const known = [...this.#list.entries.values(), ...this.#drafts.values()];
    const listed = new Set([REGISTRY_FILE, ...known.map(({ file }) => file)]);
    const { leftovers, unknown } = await findUnlisted(store, files, { listed, removed: this.#list.removedFiles });
    for (const file of unknown) await this.#setAside(file);
    for (const file of leftovers) {
      log.info(`removing ${file}, left by an interrupted creation or deletion`);
      this.#removals.beginFile(file);
    }
  }

  /**
   * Removes from the list the removed files that no longer exist. Neither the start nor the first requests wait for it. If the list can't be
   * written, the next start tries again.
   */
  #forgetMissing(files: readonly string[]): void {
    const present = new Set(files.map(databaseFileOf));
    const missing = [...this.#list.removedFiles].filter((file) => !present.has(file));
    if (missing.length === 0) return;
    this.#inOrder(async () => {
      for (const file of missing) await this.#list.forget(file);
    }).catch(() => undefined);
  }

  async #setAside(file: string): Promise<void> {
    const { log } = this.#options;
    const name = nameForUnknown(file);
    const found = `the list of databases does not name the newer file ${file};`;
    try {
      await this.#list.add(name, file);
      log.error(`${found} its database is now named ${name}`);
    } catch (error) {
      log.error(`${found} it stays unused`, error);
    }
  }

  #removed(file: string): void {
    // If the list can't be written, the next start finds that the file is gone.
    if (this.#list.removedFiles.has(file)) void this.#inOrder(() => this.#list.forget(file)).catch(() => undefined);
  }

  get serverUuid(): string {
    return this.#list.serverUuid;
  }

  get settings(): string | undefined {
    return this.#list.settings;
  }

  keepSettings(text: string): Promise<void> {
    return this.#inOrder(() => this.#list.keepSettings(text));
  }

  get notes(): ReadonlyMap<string, string> {
    return this.#list.notes;
  }

  keepNote(name: string, text: string | undefined, former?: FormerNote): Promise<void> {
    return this.#inOrder(() => this.#list.keepNote(name, text, former));
  }

  get openCount(): number {
    return this.#handles.size;
  }

  names(): readonly string[] {
    return [...this.#list.entries.keys()].sort();
  }

  has(name: string): boolean {
    return this.#list.entries.has(name);
  }

  /** The file of a database; undefined if there is none of that name. */
  fileOf(name: string): string | undefined {
    return this.#list.entries.get(name)?.file;
  }

  async create(name: string): Promise<void> {
    if (await this.createIfMissing(name)) return;
    throw new DatabaseError('file_exists', 'The database could not be created, the file already exists.');
  }

  async createIfMissing(name: string): Promise<boolean> {
    checkDatabaseName(name);
    return this.#inOrder(async () => {
      if (this.has(name)) return false;
      await this.#addToList(name, this.#drafts.get(name) ?? (await this.#beginDraft(name)));
      this.#emit({ type: 'created', name });
      return true;
    });
  }

  async createByWriting<T>(name: string, write: (registry: Registry) => MaybePromise<T>): Promise<T> {
    checkDatabaseName(name);
    const draft = await this.#inOrder(async () => (this.has(name) ? undefined : this.#joinDraft(name)));
    if (draft === undefined) return write(this);
    try {
      return await write(new RegistryWithDraft(this, name, draft.database));
    } finally {
      // Before any caller learns that it was written.
      await this.#inOrder(() => this.#leaveDraft(name, draft));
    }
  }

  async #joinDraft(name: string): Promise<Draft> {
    const draft = this.#drafts.get(name) ?? (await this.#beginDraft(name));
    this.#drafts.set(name, draft);
    draft.users += 1;
    return draft;
  }

  /** Leaves the draft. Requests that would create the same database share a draft, so that all see what one of them writes. */
  async #leaveDraft(name: string, draft: Draft): Promise<void> {
    draft.users -= 1;
    try {
      if (draft.state === 'draft' && (await isWritten(draft.database))) {
        await this.#addToList(name, draft);
        this.#emit({ type: 'created', name });
        this.#emit({ type: 'updated', name });
      }
    } finally {
      if (draft.users === 0) await this.#endDraft(name, draft);
    }
  }

  async #endDraft(name: string, draft: Draft): Promise<void> {
    if (this.#drafts.get(name) === draft) this.#drafts.delete(name);
    draft.lease?.release();
    if (draft.state === 'draft') await this.#dropDraft(draft);
  }

  async #dropDraft(draft: Draft): Promise<void> {
    draft.state = 'gone';
    await draft.database.discard();
    this.#removals.beginDatabase(draft.file);
  }

  async #beginDraft(name: string): Promise<Draft> {
    const file = createFileName(name, `${this.#options.clock.now().toString(36)}${randomHex(this.#options.random, 4)}`);
    return { database: await this.#beginFile(name, file), file, users: 0, state: 'draft', lease: undefined };
  }

  async #addToList(name: string, draft: Draft): Promise<void> {
    // If this one fails, another may be begun.
    this.#drafts.delete(name);
    try {
      await this.#list.add(name, draft.file);
    } catch (error) {
      if (!this.#list.isLost) await this.#dropDraft(draft);
      else {
        // It is unknown whether the list has the name; reading it again finds out.
        draft.state = 'gone';
        await draft.database.close().catch(() => undefined);
      }
      throw error;
    }
    draft.state = 'listed';
    this.#handles.add(name, draft.database);
    if (draft.users > 0) draft.lease = this.#handles.leaseNow(name);
  }

  async #beginFile(name: string, fileName: string): Promise<StoredDatabase> {
    try {
      const file = await this.#handles.withRoom(() => this.#options.store.open(fileName, 'create'));
      return await this.owned.openFile(name, file);
    } catch (error) {
      // The list does not name it, and the next attempt makes another one.
      this.#removals.beginDatabase(fileName);
      throw error;
    }
  }

  /**
   * The list is changed first: from then on the database is deleted, whatever becomes of its file. If the list refuses
   * nothing has happened; if the outcome is unknown, the database is not used until the list has been read again.
   */
  delete(name: string): Promise<void> {
    return this.#inOrder(async () => {
      const listed = this.#list.entries.get(name);
      if (listed === undefined) throw new DatabaseError('not_found', 'missing');
      try {
        await this.#list.remove(name);
      } catch (error) {
        if (this.#list.isLost) this.#closeUncertain(name);
        throw error;
      }
      await this.#forget(name, listed.file);
    });
  }

  /** Removes what is left of a database that is no longer in the list. Never fails. */
  async #forget(name: string, file: string): Promise<void> {
    await this.#handles
      .discard(name)
      .catch((error: unknown) => this.#options.log.error(`closing the deleted database ${name} failed`, error));
    this.#removals.beginDatabase(file);
    this.#emit({ type: 'deleted', name });
  }

  /** Keeps a database from being used until it is known whether its deletion happened: a write now could be lost with it. */
  #closeUncertain(name: string): void {
    this.#uncertain.add(name);
    const lease = this.#handles.leaseNow(name);
    if (lease === undefined) return;
    this.#handles.forget(name, lease.database);
    lease.release();
  }

  peek(name: string): Database | undefined {
    return this.#handles.peek(name);
  }

  use<T>(name: string, use: (database: Database) => MaybePromise<T>): MaybePromise<T> {
    return whenReady(this.#handles.leaseNow(name) ?? this.acquire(name), (lease) =>
      withEnd(
        () => use(lease.database),
        () => lease.release(),
      ),
    );
  }

  async acquire(name: string): Promise<Lease> {
    if (this.#closed) throw shutDown();
    if (this.#uncertain.has(name)) await this.#changes.settled();
    if (!this.has(name)) throw new DatabaseError('not_found', 'no_db_file');
    return this.#handles.lease(name);
  }

  verifyList(): Promise<VerifyReport> {
    return this.#list.verify();
  }

  onEvent(listener: (event: DatabaseEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #emit(event: DatabaseEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  #inOrder<T>(change: () => Promise<T>): Promise<T> {
    return this.#changes.run(() => {
      this.#removals.beginFailedAgain();
      return change();
    });
  }

  /** Reads the list again, and completes the changes that turn out to have happened. */
  async #recover(): Promise<void> {
    const before = await this.#list.recover();
    const { entries } = this.#list;
    this.#uncertain.clear();
    for (const [name, { file }] of before) if (entries.get(name)?.file !== file) await this.#forget(name, file);
    for (const [name, { file }] of entries) {
      if (before.get(name)?.file !== file) this.#emit({ type: 'created', name });
    }
    await this.#sortUnlisted(await this.#options.store.list());
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#changes.end();
    // Each is closed whatever happens to those before it; the first failure is thrown.
    try {
      await Promise.all([this.#handles.close(), ...[...this.#drafts.values()].map(({ database }) => database.close())]);
    } finally {
      await this.#removals.settled();
      try {
        await this.#list.close();
      } finally {
        await this.#options.store.close();
      }
    }
  }
}
