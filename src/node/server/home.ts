/** Where a server keeps its databases: one server at a time. */
import { hostname } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { DatabaseError } from '../../base/errors/database-error.ts';
import type { ConfigStore, Log } from '../../base/system/contract.ts';
import type { ConfigStorage } from '../../core/config/config-storage.ts';
import { createMemoryPageStore, MemoryMedium } from '../../storage/memory-page-store.ts';
import type { PageStore } from '../../storage/page-store.ts';
import { PostgresStorage } from '../../storage/postgres/postgres-storage.ts';
import { holdsDatabases, mustHoldList, openDataFolder, openStorage } from '../data-folder/data-folder.ts';
import { CONFIG_FILE } from '../data-folder/ini-file.ts';
import { AdminGuard, adminCommand, marksOf, storageAdminCommand } from './admin-guard.ts';
import { settingsStorage } from './configuration.ts';

export interface HomeOptions {
  readonly memory?: boolean | undefined;
  readonly storage?: string | undefined;
  readonly dataFolder?: string | undefined;
  readonly configFile?: string | undefined;
  readonly withoutAdmin?: boolean | undefined;
}

/** A place whose settings can be read, and that is not taken yet. */
export interface Home {
  /** For messages; undefined in memory. */
  readonly place: string | undefined;
  /** Absolute; undefined if it is none. Known once it is taken. */
  readonly dataFolder: string | undefined;
  readonly settings: ConfigStorage;
  readonly guard: AdminGuard | undefined;
  /** The command that sets an admin. */
  readonly adminCommand: string;
  /** Takes it for this server. Rejects with `storage_locked` while another server has it. */
  take(config: ConfigStore): Promise<void>;
  /** Whether it is certain that no other server has it. */
  readonly isHeld: boolean;
  openStore(): PageStore;
  /** Tells servers that are refused where this one answers. */
  announce(url: string): void;
  /** Operations that wait for the medium fail soon. */
  beginClose(): void;
  /** Lets another server take it. */
  release(): Promise<void>;
  /** Ends what was needed to read the settings. */
  close(): Promise<void>;
}

/** `log`: for what happens to the settings. */
export async function findHome(options: HomeOptions, log: Log, startLog: Log): Promise<Home> {
  if (options.storage !== undefined) return findStorage(options, options.storage, log, startLog);
  return options.memory === true ? memoryHome(options, startLog) : folderHome(options, log, startLog);
}

function memoryHome({ configFile }: HomeOptions, startLog: Log): Home {
  const medium = new MemoryMedium();
  return {
    place: undefined,
    dataFolder: undefined,
    settings: settingsStorage(configFile, startLog),
    guard: undefined,
    adminCommand: adminCommand(configFile, undefined),
    take: nothing,
    isHeld: true,
    openStore: () => createMemoryPageStore({ crc32, medium }),
    announce: () => undefined,
    beginClose: () => undefined,
    release: nothing,
    close: nothing,
  };
}

function folderHome(
  { dataFolder = './data', configFile, withoutAdmin = false }: HomeOptions,
  log: Log,
  startLog: Log,
): Home {
  const file = configFile ?? join(dataFolder, CONFIG_FILE);
  const command = adminCommand(file, dataFolder);
  const marks = marksOf(dataFolder);
  const guard = new AdminGuard({ place: dataFolder, marks, configFile: file, dataFolder, command, withoutAdmin, log });
  let folder: Awaited<ReturnType<typeof openDataFolder>> | undefined;
  return {
    get place() {
      return folder?.path;
    },
    get dataFolder() {
      return folder?.path;
    },
    settings: settingsStorage(file, startLog),
    guard,
    get adminCommand() {
      return adminCommand(file, folder?.path ?? dataFolder);
    },
    take: async (config) => {
      folder = await openDataFolder(dataFolder);
      if (await holdsDatabases(folder.databases)) await guard.assertSettings(folder.databases, config);
    },
    isHeld: true,
    openStore: () => openStorage(mustBeTaken(folder).databases),
    announce: (url) => folder?.announce(url),
    beginClose: () => undefined,
    release: async () => folder?.release(),
    close: nothing,
  };
}

async function findStorage(
  { configFile, withoutAdmin = false }: HomeOptions,
  url: string,
  log: Log,
  startLog: Log,
): Promise<Home> {
  const storage = await PostgresStorage.open(url, process.env);
  const { place, settings } = storage;
  const command = configFile === undefined ? storageAdminCommand() : adminCommand(configFile, undefined);
  const options = { place, marks: settings, configFile, dataFolder: undefined, command, withoutAdmin, log };
  let lease: Awaited<ReturnType<PostgresStorage['takeLease']>> | undefined;
  return {
    place,
    dataFolder: undefined,
    settings: configFile === undefined ? settings : settingsStorage(configFile, startLog),
    guard: new AdminGuard(options),
    adminCommand: command,
    take: async () => {
      const onLost = () => log.error(`Another server has taken ${place}; this one answers nothing more. Stop it.`);
      lease = await storage.takeLease({ described: `process ${process.pid} on ${hostname()}`, onLost });
      await mustHoldAList(storage);
    },
    get isHeld() {
      return lease?.isHeld ?? false;
    },
    openStore: () => storage.createStore(),
    announce: (address) => void lease?.announce(address).catch(() => undefined),
    beginClose: () => storage.beginClose(),
    release: async () => lease?.release(),
    close: () => storage.close(),
  };
}

/** Fails if the storage has databases, and not the list of them. */
async function mustHoldAList(storage: PostgresStorage): Promise<void> {
  const store = storage.createStore();
  try {
    mustHoldList(
      await store.list(),
      storage.place,
      'Restore the database of PostgreSQL from a backup; or name another schema, to begin without databases.',
    );
  } finally {
    await store.close();
  }
}

function mustBeTaken<T>(folder: T | undefined): T {
  if (folder !== undefined) return folder;
  throw new DatabaseError('storage_closed', 'The data folder is not open; start the server again');
}

async function nothing(): Promise<void> {}
