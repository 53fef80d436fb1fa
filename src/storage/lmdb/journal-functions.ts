import { closeSync, fdatasync, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { syncPath } from './folder.ts';

/** What a journal uses of the file system, so that tests can count calls and make them fail. Errors are those of `node:fs`. */
export interface JournalFunctions {
  /** Creates a file that does not exist yet, for appending; returns its descriptor. */
  create(path: string): number;
  /** Appends `bytes` from `offset` on; returns how many were written. */
  write(descriptor: number, bytes: Uint8Array, offset: number): number;
  truncate(descriptor: number, bytes: number): void;
  /** Returns whether the file no longer has a name. */
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
