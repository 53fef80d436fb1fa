import { DatabaseError } from '../../base/errors/database-error.ts';
import { must } from '../../base/shared/assert.ts';
import { randomHex } from '../../base/shared/bytes.ts';
import type { Clock, RandomBytes } from '../../base/shared/clock.ts';
import type { Log } from '../../base/system/contract.ts';
import type { PageStore } from '../../storage/page-store.ts';
import type { DocId } from '../documents/contract.ts';
import { createRevisionHasher } from '../documents/revisions/revision-hash.ts';
import type { LocalWriteOptions, VerifyReport } from '../store/contract.ts';
import { openDatabase } from '../store/open-database.ts';
import type { StoredDatabase } from '../store/stored-database.ts';
import type { FormerNote } from './contract.ts';
import {
  type KeptText,
  type Listed,
  listId,
  noteId,
  type Removed,
  readListContent,
  SERVER_KEY,
  SETTINGS_KEY,
  type StoredEntry,
} from './list-content.ts';

/** The file that holds the list of databases: itself a database, with one local document for each. */
export const REGISTRY_FILE = 'registry';

interface DatabaseListOptions {
  /** Opens the list's file, or begins one. `onFailure` is called if the open database gives itself up. */
  open(onFailure: () => void): Promise<StoredDatabase>;
  newUuid(): string;
  /** Called when the list is lost: it may or may not contain what was being written. */
  onLost(): void;
}

/**
 * The list of databases, the uuid of the service and its settings: itself a database, with one local document for each name. Changes
 * must run one after another. A deletion leaves the name of the file in the list until the file is removed, so that a file which the list
 * does not name at all is known to belong to a database of a later list. If a change fails with an unknown outcome the list is lost until
 * `recover` has read it again; `entries` stay as they were before that change.
 */
export class DatabaseList {
  readonly #options: DatabaseListOptions;
  #database: StoredDatabase | undefined;
  /** The list's database after it gave itself up. It is closed before its file is opened again. */
  #lost: StoredDatabase | undefined;
  #entries = new Map<string, Listed>();
  /** By name. */
  #removed = new Map<string, Removed>();
  #serverUuid = '';
  #settings: KeptText | undefined;
  /** By name. */
  #notes = new Map<string, string>();
  #noteRevs = new Map<string, string>();

  private constructor(options: DatabaseListOptions) {
    this.#options = options;
  }

  static async open(options: DatabaseListOptions): Promise<DatabaseList> {
    const list = new DatabaseList(options);
    await list.#open();
    return list;
  }

  get serverUuid(): string {
    return this.#serverUuid;
  }

  /** JSON text; undefined if none was kept yet. */
  get settings(): string | undefined {
    return this.#settings?.text;
  }

  /** See `Registry.notes`. */
  get notes(): ReadonlyMap<string, string> {
    return this.#notes;
  }

  /** By name. */
  get entries(): ReadonlyMap<string, Listed> {
    return this.#entries;
  }

  /** Files of deleted databases that may still exist. */
  get removedFiles(): ReadonlySet<string> {
    return new Set([...this.#removed.values()].flatMap(({ files }) => files));
  }

  get isLost(): boolean {
    return this.#database === undefined;
  }

  /** Reads a lost list again. Returns the entries as they were before. */
  async recover(): Promise<ReadonlyMap<string, Listed>> {
    const before = this.#entries;
    await this.#lost?.close().catch(() => undefined);
    await this.#open();
    return before;
  }

  async add(name: string, file: string): Promise<void> {
    const { files = [], rev: former } = this.#removed.get(name) ?? {};
    const rev = await this.#writeEntry(name, former, { file, removed: files }, { durability: 'strict' });
    this.#entries.set(name, { file, rev });
    if (files.length > 0) this.#removed.set(name, { files, rev });
  }

  async remove(name: string): Promise<void> {
    const { file, rev: former } = must(this.#entries.get(name), 'only a listed database is deleted');
    const files = [...(this.#removed.get(name)?.files ?? []), file];
    const rev = await this.#writeEntry(name, former, { removed: files }, { durability: 'strict', makesRoom: true });
    this.#entries.delete(name);
    this.#removed.set(name, { files, rev });
  }

  /** Forgets the file of a deleted database, which is removed. */
  async forget(file: string): Promise<void> {
    for (const [name, { files, rev: former }] of this.#removed) {
      if (!files.includes(file)) continue;
      const left = files.filter((other) => other !== file);
      const entry = this.#entries.get(name);
      const options: LocalWriteOptions = { durability: 'relaxed', makesRoom: true };
      const rev = await this.#writeEntry(name, former, { file: entry?.file, removed: left }, options);
      if (entry !== undefined) this.#entries.set(name, { ...entry, rev });
      if (left.length > 0) this.#removed.set(name, { files: left, rev });
      else this.#removed.delete(name);
    }
  }

  async keepSettings(text: string): Promise<void> {
    const rev = await this.#write(SETTINGS_KEY, this.#settings?.rev, text, { durability: 'strict' });
    this.#settings = { text, rev };
  }

  async keepNote(name: string, text: string | undefined, expected?: FormerNote): Promise<void> {
    if (expected !== undefined && expected.text !== this.#notes.get(name))
      throw new DatabaseError('conflict', 'Another server has changed this at the same time. Send the request again.');
    const former = this.#noteRevs.get(name);
    if (text === undefined && former === undefined) return;
    const rev = await this.#write(noteId(name), former, text, {
      durability: text === undefined ? 'relaxed' : 'strict',
    });
    if (text === undefined) {
      this.#notes.delete(name);
      this.#noteRevs.delete(name);
    } else {
      this.#notes.set(name, text);
      this.#noteRevs.set(name, rev);
    }
  }

  async verify(): Promise<VerifyReport> {
    return must(this.#database, 'a list that was just opened is there').verify();
  }

  async close(): Promise<void> {
    await (this.#database ?? this.#lost)?.close();
  }

  #writeEntry(
    name: string,
    rev: string | undefined,
    { file, removed = [] }: StoredEntry,
    options: LocalWriteOptions,
  ): Promise<string> {
    const isEmpty = file === undefined && removed.length === 0;
    const entry: StoredEntry = { file, removed: removed.length > 0 ? removed : undefined };
    return this.#write(listId(name), rev, isEmpty ? undefined : JSON.stringify(entry), options);
  }

  #write(id: DocId, rev: string | undefined, body: string | undefined, options: LocalWriteOptions): Promise<string> {
    if (this.#database !== undefined) return this.#database.writeLocal(id, rev, body, options);
    const reason = 'The list of databases is not open after a failure. Send the request again.';
    return Promise.reject(new DatabaseError('storage_closed', reason));
  }

  async #open(): Promise<void> {
    let opened: StoredDatabase | undefined;
    let hasFailed = false;
    opened = await this.#options.open(() => {
      hasFailed = true;
      if (opened === undefined || this.#database !== opened) return;
      this.#lost = opened;
      this.#database = undefined;
      this.#options.onLost();
    });
    try {
      await this.#load(opened);
    } catch (error) {
      await opened.close().catch(() => undefined);
      throw error;
    }
    // A database that failed meanwhile, in its upkeep, stays lost.
    if (hasFailed) this.#lost = opened;
    else this.#database = opened;
  }

  async #load(database: StoredDatabase): Promise<void> {
    const content = await readListContent(database);
    this.#serverUuid = content.serverUuid ?? (await this.#createUuid(database));
    this.#entries = content.entries;
    this.#removed = content.removed;
    this.#settings = content.settings;
    this.#notes = content.notes;
    this.#noteRevs = content.noteRevs;
  }

  async #createUuid(database: StoredDatabase): Promise<string> {
    const uuid = this.#options.newUuid();
    await database.writeLocal(SERVER_KEY, undefined, JSON.stringify({ uuid }), { durability: 'strict' });
    return uuid;
  }
}

interface ListOptions {
  readonly store: PageStore;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly log: Log;
}

/**
 * Returns the file of each database that the list of a store names, by the database's name. Opens the list's file, which must
 * exist, and closes it again; other files are left alone, whether they are named or not.
 */
export async function readListedFiles(options: ListOptions): Promise<ReadonlyMap<string, string>> {
  const list = await openList(options, 'open');
  try {
    return new Map([...list.entries].map(([name, { file }]) => [name, file]));
  } finally {
    await list.close();
  }
}

/**
 * Adds databases to the list of a store that no one uses, by name: their files are there already. Creates the list if there is none. A database that
 * has one of these names now is deleted: its file is removed when the list is opened next.
 */
export async function addListedFiles(options: ListOptions, files: ReadonlyMap<string, string>): Promise<void> {
  const isThere = (await options.store.list()).includes(REGISTRY_FILE);
  const list = await openList(options, isThere ? 'open' : 'create');
  try {
    for (const [name, file] of files) {
      const entry = list.entries.get(name);
      if (entry?.file === file) continue;
      if (entry !== undefined) await list.remove(name);
      // It would be removed as that of a database that was deleted.
      if (list.removedFiles.has(file)) await list.forget(file);
      await list.add(name, file);
    }
  } finally {
    await list.close();
  }
}

async function openList(options: ListOptions, mode: 'create' | 'open'): Promise<DatabaseList> {
  const { store } = options;
  const hasher = await createRevisionHasher();
  return DatabaseList.open({
    open: async (onFailure) => {
      const file = await store.open(REGISTRY_FILE, mode);
      return openDatabase({ ...options, name: REGISTRY_FILE, file, supports: store.supports, hasher, onFailure });
    },
    // For a list whose creation was interrupted before it had a uuid.
    newUuid: () => randomHex(options.random, 16),
    onLost: () => undefined,
  });
}
