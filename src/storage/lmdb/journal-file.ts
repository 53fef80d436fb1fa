import { closeSync, fdatasync, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { RecordEncoder } from '../journal-record.ts';
import type { JournalRecord } from '../page-store.ts';
import { storageFailed } from '../storage-errors.ts';
import { hasCode, syncPath } from './folder.ts';
import type { KeptSegment } from './journal-recovery.ts';
import { segmentPath } from './journal-segment.ts';

interface JournalFileOptions {
  readonly file: string;
  readonly folder: string;
  readonly epoch: number;
  readonly functions: JournalFunctions;
  /** Segments of former owners that are still needed. */
  readonly kept: readonly KeptSegment[];
}

/** The segment that records are appended to. */
interface OpenSegment {
  readonly path: string;
  readonly descriptor: number;
  readonly first: number;
  /** Its length; it consists of whole records. */
  bytes: number;
  /** One above the last record's number. */
  end: number;
}

/**
 * One owner's journal on the disk. A record that `append` accepted survives the end of the process, and after `sync` a
 * power cut as well. An append that fails leaves the file as it was; if that is not possible, the journal is given up:
 * it accepts nothing more, and the next opening cuts it off at its last whole record.
 */
export class JournalFile {
  readonly #options: JournalFileOptions;
  readonly #encoder = new RecordEncoder(crc32);
  #kept: readonly KeptSegment[];
  #current: OpenSegment | undefined;
  #isSynced = true;
  #isNameSynced = true;
  #failure: unknown;

  constructor(options: JournalFileOptions) {
    this.#options = options;
    this.#kept = options.kept;
  }

  /** Whether the open segment's name was removed; undefined if none is open. */
  get isRemoved(): boolean | undefined {
    return this.#current && this.#options.functions.isRemoved(this.#current.descriptor);
  }

  /** Bytes on the disk. */
  get bytes(): number {
    return this.#kept.reduce((sum, { bytes }) => sum + bytes, this.#current?.bytes ?? 0);
  }

  /** Returns whether there are records from this number on that a power cut may destroy. */
  hasUnsynced(from: number): boolean {
    return !this.#isSynced && this.#current !== undefined && this.#current.end > from;
  }

  /** Appends in the same turn, so that no one else writes or opens the file in between. */
  append(record: JournalRecord): void {
    this.mustBeSound();
    this.#current ??= this.#begin(record.number);
    const current = this.#current;
    const bytes = this.#encoder.encode(record);
    try {
      this.#write(current, bytes);
    } catch (error) {
      this.#cutBack(current);
      throw error;
    }
    current.bytes += bytes.length;
    current.end = record.number + 1;
    this.#isSynced = false;
  }

  /** Makes every record durable. */
  async sync(): Promise<void> {
    this.mustBeSound();
    const { functions, folder } = this.#options;
    const [isSynced, isNameSynced] = [this.#isSynced, this.#isNameSynced];
    this.#isSynced = true;
    this.#isNameSynced = true;
    try {
      if (!isSynced && this.#current !== undefined) await functions.sync(this.#current.descriptor);
      if (!isNameSynced) await functions.syncFolder(folder);
    } catch (error) {
      // The folder was removed on purpose, so nothing in it has to last.
      if (!hasCode(error, 'ENOENT')) {
        // After a failed sync the system may treat pages as clean that never reached the disk.
        this.#failure = error;
        this.#isSynced = false;
        // Never reported as a full disk, which refuses a step as a whole: what was appended is there, and may reappear.
        throw storageFailed(this.#options.file, 'its journal', error);
      }
    }
  }

  /** Removes the segments of the records below `below`, after a commit that removed these; the next record begins a new one. */
  async truncate(below: number): Promise<void> {
    const { functions } = this.#options;
    if (this.#current !== undefined && this.#current.first < below) this.#endSegment();
    const gone = this.#kept.filter(({ end }) => end <= below);
    this.#kept = this.#kept.filter(({ end }) => end > below);
    for (const { path } of gone) {
      // The commit is done; the next opening removes what stays.
      await functions.remove(path).catch(() => undefined);
    }
  }

  /** Makes every record durable, unless the journal was given up, and closes the file. */
  async close(): Promise<void> {
    try {
      if (this.#failure === undefined) await this.sync();
    } finally {
      this.#endSegment();
    }
  }

  mustBeSound(): void {
    if (this.#failure !== undefined) throw storageFailed(this.#options.file, 'its journal', this.#failure);
  }

  #begin(first: number): OpenSegment {
    const { functions, folder, epoch } = this.#options;
    const path = segmentPath(folder, epoch, first);
    const descriptor = functions.create(path);
    this.#isNameSynced = false;
    return { path, descriptor, first, bytes: 0, end: first };
  }

  #endSegment(): void {
    const current = this.#current;
    if (current === undefined) return;
    this.#current = undefined;
    this.#isSynced = true;
    this.#options.functions.close(current.descriptor);
    this.#kept = [...this.#kept, current];
  }

  #write({ descriptor }: OpenSegment, bytes: Uint8Array): void {
    let written = 0;
    while (written < bytes.length) written += this.#options.functions.write(descriptor, bytes, written);
  }

  #cutBack({ descriptor, bytes }: OpenSegment): void {
    try {
      this.#options.functions.truncate(descriptor, bytes);
    } catch (error) {
      this.#failure = error;
    }
  }
}

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
