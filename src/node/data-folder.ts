import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { DatabaseError } from '../errors/database-error.ts';
import { type FolderLock, lockFolder } from './folder-lock.ts';

/**
 * The folder that a server, or a maintenance command, works on: made if need be, and held against other processes.
 * What lies in it: `lock/` is ours, all else belongs to the page store.
 */
export interface DataFolder extends FolderLock {
  /** Absolute. */
  readonly path: string;
}

/** Rejects with `storage_locked` while another process uses the folder, and with `storage_failed` where it can't be made. */
export async function openDataFolder(folder: string): Promise<DataFolder> {
  const path = resolve(folder);
  try {
    await mkdir(path, { recursive: true });
    const lock = await lockFolder(path);
    return { path, announce: (address) => lock.announce(address), release: () => lock.release() };
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
