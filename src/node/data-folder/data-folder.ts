import { access, chmod, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { DatabaseError } from '../../base/errors/database-error.ts';
import { systemClock, systemRandom } from '../../base/shared/clock.ts';
import { silentLog } from '../../base/system/log.ts';
import { REGISTRY_FILE, readListedFiles } from '../../database/registry/database-list.ts';
import { createFileName, isDatabaseFile } from '../../database/registry/database-name.ts';
import { describeLoss } from '../../database/store/open-database.ts';
import { listFiles, syncPath } from '../../storage/lmdb/folder.ts';
import { createLmdbPageStore, type OnJournalDamage, refuseDamage } from '../../storage/lmdb/lmdb-page-store.ts';
import { ReservedFiles } from '../../storage/lmdb/reserved-files.ts';
import type { PageStore } from '../../storage/page-store.ts';
import { withReserve } from '../../storage/reserving-store.ts';
import { type FolderLock, lockFolder } from './folder-lock.ts';

/** The folder in a data folder that belongs to the page store. */
export const DATABASES_FOLDER = 'databases';

/**
 * The folder that a server or a maintenance command works on: created if it is not there, and locked against other
 * processes. It contains `databases/`, which belongs to the page store, `lock/` (folder-lock.ts), and `has-admins` if its server has admins.
 */
export interface DataFolder extends FolderLock {
  /** Absolute. */
  readonly path: string;
  /** Where the page store keeps its files; the store creates it. */
  readonly databases: string;
}

/** Rejects with `storage_locked` while another process uses the folder, and with `storage_failed` if it can't be created. */
export async function openDataFolder(folder: string): Promise<DataFolder> {
  const path = resolve(folder);
  try {
    await mkdir(path, { recursive: true });
    const lock = await lockFolder(path);
    const databases = join(path, DATABASES_FOLDER);
    await hideFromOthers(databases);
    return { path, databases, announce: (address) => lock.announce(address), release: () => lock.release() };
  } catch (error) {
    if (error instanceof DatabaseError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new DatabaseError(
      'storage_failed',
      `The data folder ${path} can't be used: ${why}. It must be a folder that this user may read and write.`,
      { cause: error },
    );
  }
}

const OTHERS = 0o007;

/**
 * Removes the rights of other users from a folder that an earlier release created: it contains hashes and passwords. The rights of the group
 * stay, since they may have been granted on purpose. Only the owner can do so; if that fails, the folder is used as it is.
 */
async function hideFromOthers(folder: string): Promise<void> {
  try {
    const { mode } = await stat(folder);
    if ((mode & OTHERS) !== 0) await chmod(folder, mode & ~OTHERS);
  } catch {
    // It does not exist yet, or belongs to another user.
  }
}

/**
 * Whether there is anything in a `databases/` folder. Fails with `storage_corrupt` if it has databases but not the list
 * of them: opening it would create an empty list, and remove every database because it is not listed.
 */
export async function holdsDatabases(databases: string): Promise<boolean> {
  const advice = `Restore the data folder from a backup; or move ${databases} away, to begin without databases.`;
  return mustHoldList(await listFiles(databases), databases, advice, `, which is its folder "${REGISTRY_FILE}"`);
}

/** Whether there is anything among the files of a storage. Fails with `storage_corrupt` like `holdsDatabases`. */
export function mustHoldList(files: readonly string[], place: string, advice: string, where = ''): boolean {
  if (files.includes(REGISTRY_FILE)) return true;
  if (!files.some(isDatabaseFile)) return false;
  throw new DatabaseError(
    'storage_corrupt',
    `${place} holds databases, but not the list of them${where}. Nothing was changed. ${advice}`,
  );
}

/** Fails with `not_found` if a data folder, or a backup, has no databases, and like `holdsDatabases`. */
export async function mustHoldDatabases(dataFolder: string): Promise<void> {
  if (await holdsDatabases(join(dataFolder, DATABASES_FOLDER))) return;
  throw new DatabaseError(
    'not_found',
    `${dataFolder} holds no databases. Name the data folder of a server, or a backup.`,
  );
}

/** Whether the list of databases contains that name. To be called by the owner of the folder. */
export async function holdsDatabase(databases: string, name: string): Promise<boolean> {
  const prefix = createFileName(name, '');
  if (!(await listFiles(databases)).some((file) => file.startsWith(prefix))) return false;
  const store = openStorage(databases);
  try {
    const listed = await readListedFiles({ store, clock: systemClock, random: systemRandom, log: silentLog });
    return listed.has(name);
  } finally {
    await store.close();
  }
}

export interface StorageOptions {
  /** If set, a damaged journal is truncated instead of refused; it gets the file, and a sentence that says what is dropped. */
  readonly onRepair?: ((file: string, repair: string) => void) | undefined;
  /** Whether the structure of each whole file is checked before it is opened. */
  readonly checksWholly?: boolean;
  /** Whether space is reserved for when the disk is full; space that is already reserved can be used in any case. Default: true. */
  readonly reservesSpace?: boolean;
}

/** The page store of a `databases/` folder. It refuses to open a file whose journal is damaged. */
export function openStorage(databases: string, options: StorageOptions = {}): PageStore {
  const { onRepair, checksWholly = false, reservesSpace: grows = true } = options;
  const onDamage: OnJournalDamage = (file, damage) => {
    if (onRepair === undefined) {
      if (file === REGISTRY_FILE) throw damagedList(databases);
      refuseDamage(file, damage);
    }
    onRepair(file, describeLoss(damage.number, damage.place, damage.behind));
  };
  const store = createLmdbPageStore(databases, { onDamage, checksWholly });
  return withReserve(store, new ReservedFiles(databases), { grows });
}

/** The databases of a data folder that another process of this server has open, for reading (`PageStore.follow`). */
export function followStorage(dataFolder: string): PageStore {
  return createLmdbPageStore(join(resolve(dataFolder), DATABASES_FOLDER));
}

export function damagedList(databases: string): DatabaseError {
  return new DatabaseError(
    'storage_corrupt',
    `The list of databases, ${join(databases, REGISTRY_FILE)}, is damaged and has lost entries. No database was changed. Stop the server and run "settee verify --repair", which reads what is left of it and sets databases aside that it does not name; or restore the data folder from a backup.`,
  );
}

/**
 * A file in the data folder that says that its server has admins. Settings may be in a file elsewhere, or come from flags: without them,
 * and without this mark, a copy of the folder would look like one that never had an admin, and would be served to everyone.
 */
const ADMIN_MARK = 'has-admins';
const TEXT_OF_MARK = `The server of this data folder has admins. As long as this file exists, the folder is not served without one: "settee admin add NAME" adds one.
`;

export async function hasAdminMark(dataFolder: string): Promise<boolean> {
  try {
    await access(join(dataFolder, ADMIN_MARK));
    return true;
  } catch {
    return false;
  }
}

/** Changes nothing if it is already correct. */
export async function markAdmins(dataFolder: string, hasAdmins: boolean): Promise<void> {
  if ((await hasAdminMark(dataFolder)) === hasAdmins) return;
  const path = join(dataFolder, ADMIN_MARK);
  if (hasAdmins) await writeFile(path, TEXT_OF_MARK);
  else await rm(path, { force: true });
  await syncPath(dataFolder);
}
