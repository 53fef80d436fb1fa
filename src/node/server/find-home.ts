import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { DatabaseError } from '../../base/errors/database-error.ts';
import type { Log } from '../../base/system/contract.ts';
import { createMemoryPageStore, MemoryMedium } from '../../storage/memory-page-store.ts';
import type { PageStore } from '../../storage/page-store.ts';
import { PostgresStorage } from '../../storage/postgres/postgres-storage.ts';
import { AdminGuard, adminCommand, marksOf } from '../configuration/admin-guard.ts';
import { settingsStorage } from '../configuration/configuration.ts';
import { followStorage, holdsDatabases, openDataFolder, openStorage } from '../data-folder/data-folder.ts';
import { CONFIG_FILE } from '../data-folder/ini-file.ts';
import type { Home, HomeOptions } from './home.ts';
import { findStorage } from './storage-home.ts';

const DEFAULT_DATA_FOLDER = './data';

/** `log`: for what happens to the settings. */
export async function findHome(options: HomeOptions, log: Log, startLog: Log): Promise<Home> {
  if (options.storage !== undefined) return findStorage(options, options.storage, log, startLog);
  return options.memory === true ? memoryHome(options, startLog) : folderHome(options, log, startLog);
}

interface FollowedHome {
  /** For `PageStore.follow` only. */
  readonly store: PageStore;
  close(): Promise<void>;
}

/** The databases of a home that another process of this server has taken, for reading. */
export async function followHome({
  storage: url,
  dataFolder = DEFAULT_DATA_FOLDER,
}: HomeOptions): Promise<FollowedHome> {
  if (url === undefined) return { store: followStorage(dataFolder), close: nothing };
  const storage = await PostgresStorage.openExisting(url, process.env);
  return { store: storage.createStore(), close: () => storage.close() };
}

function memoryHome({ configFile }: HomeOptions, startLog: Log): Home {
  const medium = new MemoryMedium();
  return {
    place: undefined,
    dataFolder: undefined,
    settings: settingsStorage(configFile, startLog),
    guard: undefined,
    adminCommand: adminCommand(configFile, undefined),
    take: async () => true,
    isHeld: true,
    openStore: () => createMemoryPageStore({ crc32, medium }),
    announce: () => undefined,
    beginClose: () => undefined,
    release: nothing,
    close: nothing,
  };
}

function folderHome(
  { dataFolder = DEFAULT_DATA_FOLDER, configFile, withoutAdmin = false }: HomeOptions,
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
      return true;
    },
    isHeld: true,
    openStore: () => openStorage(mustBeTaken(folder).databases),
    announce: (url) => folder?.announce(url),
    beginClose: () => undefined,
    release: async () => folder?.release(),
    close: nothing,
  };
}

function mustBeTaken<T>(folder: T | undefined): T {
  if (folder !== undefined) return folder;
  throw new DatabaseError('storage_closed', 'The data folder is not open; start the server again');
}

async function nothing(): Promise<void> {}
