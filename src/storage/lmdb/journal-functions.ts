import { closeSync, fdatasync, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { syncPath } from './folder.ts';

/** What a journal asks of the file system, so that tests can make it fail and count. Errors are those of `node:fs`. */
export interface JournalFunctions {
  /** Makes a file that is not there yet, for appending; gives its descriptor. */
  create(path: string): number;
  /** Appends `bytes` from `offset` on; gives how many were taken. */
  write(descriptor: number, bytes: Uint8Array, offset: number): number;
  truncate(descriptor: number, bytes: number): void;
  /** Whether the file has no name any more. */
  isRemoved(descriptor: number): boolean;
  /** Makes the content durable. */
  sync(descriptor: number): Promise<void>;
  /** Makes the names in a folder durable. */
  syncFolder(folder: string): Promise<void>;
  close(descriptor: number): void;
  remove(path: string): Promise<void>;
}

const sync = promisify(fdatasync);

export const systemFunctions: JournalFunctions = {
  create: (path) => openSync(path, 'ax'),
  write: (descriptor, bytes, offset) => writeSync(descriptor, bytes, offset),
  truncate: ftruncateSync,
  isRemoved: (descriptor) => fstatSync(descriptor).nlink === 0,
  sync,
  syncFolder: syncPath,
  close: closeSync,
  remove: (path) => rm(path, { force: true }),
};
