/** A data folder, or a storage in PostgreSQL, that a command has for itself. */
import { access } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { DatabaseError } from '../../base/errors/database-error.ts';
import { silentLog } from '../../base/system/log.ts';
import type { ConfigStorage } from '../../core/config/config-storage.ts';
import type { FileSource, FileTarget } from '../../storage/file-copy.ts';
import { LmdbFileSource } from '../../storage/lmdb/copying/file-source.ts';
import { LmdbFileTarget } from '../../storage/lmdb/copying/file-target.ts';
import type { PageStore } from '../../storage/page-store.ts';
import { PostgresStorage } from '../../storage/postgres/postgres-storage.ts';
import type { StorageLease } from '../../storage/postgres/storage-lease.ts';
import {
  hasAdminMark,
  markAdmins,
  mustHoldDatabases,
  mustHoldList,
  openDataFolder,
  openStorage,
  type StorageOptions,
} from './data-folder.ts';
import { CONFIG_FILE, createConfigFile, IniFile } from './ini-file.ts';

export interface StoragePlace {
  readonly dataFolder: string;
  /** The URL of a storage in PostgreSQL, which is then used instead of the folder. */
  readonly storage?: string | undefined;
}

/** Where settings are kept beside databases, with the mark that their server has admins. */
export interface KeptSettings extends ConfigStorage {
  /** For messages. */
  readonly place: string;
  hasAdminMark(): Promise<boolean>;
  markAdmins(hasAdmins: boolean): Promise<void>;
  /** Whether there are settings, if only none. A data folder whose settings file is missing has lost it. */
  exist(): Promise<boolean>;
  /** Makes them exist. */
  create(): Promise<void>;
}

/** No server uses it until `release`. */
export interface MaintainedStorage {
  /** For messages: without a password. */
  readonly place: string;
  /** Options are those of a data folder. */
  openStore(options?: StorageOptions): PageStore;
  readonly settings: KeptSettings;
  /** To be closed. While it is open, the store must have no file open. */
  openSource(): Promise<FileSource & { close(): Promise<void> }>;
  readonly target: FileTarget;
  /** Fails with `storage_fenced` if a server may have taken it meanwhile, since its database server was not reached. */
  mustBeHeld(): void;
  release(): Promise<void>;
}

interface MaintenanceOptions {
  /** For servers that are refused meanwhile. */
  readonly command: string;
  /** Whether there may be no databases: a folder, or tables, are then created. Otherwise that is `not_found`. */
  readonly mayBeNew?: boolean;
}

/** Fails with `storage_locked` if a server uses it, in words that say which one. */
export async function openForMaintenance(
  { dataFolder, storage }: StoragePlace,
  options: MaintenanceOptions,
): Promise<MaintainedStorage> {
  return storage === undefined ? openFolder(dataFolder, options) : openTables(storage, options);
}

async function openFolder(dataFolder: string, { mayBeNew = false }: MaintenanceOptions): Promise<MaintainedStorage> {
  if (!mayBeNew) await mustHoldDatabases(dataFolder);
  const { path, databases, release } = await openDataFolder(dataFolder);
  const file = join(path, CONFIG_FILE);
  const ini = new IniFile(file, silentLog);
  return {
    place: dataFolder,
    openStore: (options) => openStorage(databases, options),
    settings: {
      place: file,
      load: () => ini.load(),
      write: (names, value) => ini.write(names, value),
      hasAdminMark: () => hasAdminMark(path),
      markAdmins: (hasAdmins) => markAdmins(path, hasAdmins),
      exist: () => isThere(file),
      create: () => createConfigFile(file),
    },
    openSource: async () => Object.assign(new LmdbFileSource(databases), { close: async () => undefined }),
    target: new LmdbFileTarget(databases),
    mustBeHeld: () => undefined,
    release,
  };
}

async function openTables(url: string, options: MaintenanceOptions): Promise<MaintainedStorage> {
  const { command, mayBeNew = false } = options;
  const storage = await (mayBeNew ? PostgresStorage.open(url, process.env) : openExistingStorage(url));
  const { place, settings } = storage;
  const machine = hostname();
  const described = `"settee ${command}" (process ${process.pid} on ${machine})`;
  let lease: StorageLease | undefined;
  try {
    lease = await storage.openLease({ described, machine });
    await takeFromNoServer(lease, place);
    if (!mayBeNew) await mustHoldTables(storage);
  } catch (error) {
    await lease?.release();
    await storage.close();
    throw error;
  }
  const held = lease;
  return {
    place,
    openStore: () => storage.createStore(),
    settings: {
      place,
      load: () => settings.load(),
      write: (names, value) => settings.write(names, value),
      hasAdminMark: () => settings.hasAdminMark(),
      markAdmins: (hasAdmins) => settings.markAdmins(hasAdmins),
      exist: async () => true,
      create: async () => undefined,
    },
    openSource: () => storage.createSnapshot(),
    target: storage.createFileTarget(),
    mustBeHeld: () => {
      if (!held.isHeld) throw notHeld(place);
    },
    release: async () => {
      await held.release();
      await storage.close();
    },
  };
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** How often a command looks whether the owner is alive, in milliseconds, and for how long: the lease of one that was killed ends before that. */
const LOOK_MS = 500;
const MAX_LOOKS = 40;

/** Takes the storage, also from a server that was killed. Fails with `storage_locked` if its owner renews its lease. */
async function takeFromNoServer(lease: StorageLease, place: string): Promise<void> {
  let seen: StorageLease['owner'];
  for (let looks = 0; !(await lease.tryTake()); looks += 1) {
    const { owner } = lease;
    const isAlive = owner !== undefined && seen?.id === owner.id && seen.beats !== owner.beats;
    if (isAlive || looks >= MAX_LOOKS) throw locked(place, owner);
    seen = owner;
    await wait(LOOK_MS);
  }
}

function locked(place: string, owner: StorageLease['owner']): DatabaseError {
  const who = owner?.described ?? 'another server';
  const where = owner?.address === undefined ? '' : `, which answers at ${owner.address}`;
  const reason = `The storage at ${place} is in use by ${who}${where}. Stop that server first, and those that stand by for it; or name another schema (…?schema=NAME) or database.`;
  return new DatabaseError('storage_locked', reason);
}

/** For commands that need no ownership, and must not create anything. */
export function openExistingStorage(url: string): Promise<PostgresStorage> {
  return PostgresStorage.openExisting(url, process.env);
}

/** Fails with `not_found` if a storage has no databases, and with `storage_corrupt` if it has, but not the list of them. */
async function mustHoldTables(storage: PostgresStorage): Promise<void> {
  const source = await storage.createSnapshot();
  try {
    mustHoldTablesOf(await source.list(), storage.place);
  } finally {
    await source.close();
  }
}

export function mustHoldTablesOf(files: readonly string[], place: string): void {
  const advice =
    'Restore the database of PostgreSQL from a backup; or name another schema, to begin without databases.';
  if (mustHoldList(files, place, advice)) return;
  throw new DatabaseError('not_found', `${place} holds no databases. Check the schema (…?schema=NAME) in its URL.`);
}

function notHeld(place: string): DatabaseError {
  const reason = `${place} was not reached for a while, and a server may have taken it. Nothing more was written. Run the command again.`;
  return new DatabaseError('storage_fenced', reason);
}
