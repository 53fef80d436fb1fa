import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { DatabaseError } from '../errors/database-error.ts';
import { type FolderLock, lockFolder } from './folder-lock.ts';

/** The folder in a data folder that belongs to the page store. */
export const DATABASES_FOLDER = 'databases';

/**
 * The folder that a server, or a maintenance command, works on: made if need be, and held against other processes.
 * In it are `databases/`, which belongs to the page store, and `lock/` (folder-lock.ts).
 */
export interface DataFolder extends FolderLock {
  /** Absolute. */
  readonly path: string;
  /** Where the page store keeps its files; not made yet. */
  readonly databases: string;
}

/** Rejects with `storage_locked` while another process uses the folder, and with `storage_failed` where it can't be made. */
export async function openDataFolder(folder: string): Promise<DataFolder> {
  const path = resolve(folder);
  try {
    await mkdir(path, { recursive: true });
    const lock = await lockFolder(path);
    const databases = join(path, DATABASES_FOLDER);
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
