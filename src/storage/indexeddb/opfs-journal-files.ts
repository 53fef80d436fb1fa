/** Journal files in the origin's private file system (File System standard). A page's worker loads this module if the browser supports it. */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { assert, must } from '../../base/shared/assert.ts';
import { crc32 } from '../../base/shared/crc32.ts';
import { decodeRecords, RecordEncoder } from '../journal-record.ts';
import type { Commit, JournalRecord } from '../page-store.ts';
import { storageFenced } from '../storage-errors.ts';
import type { JournalFile, JournalFileOptions, JournalFiles, SealedSegments } from './journal-files.ts';
import {
  canWriteAtOnce,
  type GetDirectory,
  HEADER_BYTES,
  openFolder,
  readSegment,
  removeFolder,
  SHARED,
  sealAndRead,
} from './journal-folder.ts';
import { runWrite } from './write-transaction.ts';

/**
 * @param getDirectory returns the origin's private file system; default: the browser's own.
 * @param recordsBefore number of records since the journal was truncated before a segment is made: making one takes as long as
 *   writing five of them.
 */
export function createOpfsJournalFiles(
  getDirectory: GetDirectory = () => navigator.storage.getDirectory(),
  recordsBefore = 8,
): JournalFiles {
  return {
    seal: (...request) => sealSegments(getDirectory, ...request),
    read: (...request) => readSegments(getDirectory, ...request),
    open: (parts) => new OpfsJournalFile(parts, getDirectory, recordsBefore),
    destroy: (folder) => removeFolder(getDirectory, folder),
  };
}

async function readSegments(getDirectory: GetDirectory, name: string, token: string): Promise<JournalRecord[]> {
  const folder = await openFolder(getDirectory, name, false);
  const records: JournalRecord[] = [];
  for await (const segment of folder?.keys() ?? []) {
    const bytes = segment.startsWith(token) && folder && (await readSegment(folder, segment));
    if (bytes) records.push(...decodeRecords(bytes, crc32).records);
  }
  return records;
}

async function sealSegments(
  getDirectory: GetDirectory,
  name: string,
  token: string,
  mustBeOwner: () => Promise<void>,
): Promise<SealedSegments> {
  const folder = await openFolder(getDirectory, name, false);
  const names: string[] = [];
  const records: JournalRecord[] = [];
  for await (const segment of folder?.keys() ?? []) if (segment.startsWith(token)) names.push(segment);
  for (const segment of names) {
    const bytes = folder && (await sealAndRead(folder, segment, mustBeOwner));
    if (bytes !== undefined) records.push(...decodeRecords(bytes, crc32).records);
  }
  return { names, records, isFolderGone: folder === undefined };
}

/** Longest text of a record, in UTF-16 code units: the encoder's buffer stays as large as the longest text needs. */
const MAX_TAIL_BYTES = 64 * 1024;

/** The segment that records are appended to. */
interface Segment {
  readonly name: string;
  readonly access: FileSystemSyncAccessHandle;
  bytes: number;
}

/**
 * Segments are files that one owner appends to: a header, then records in the format of `journal-record.ts`. A later owner writes a seal into
 * the header before it reads; an owner checks for the seal before and after each record that it writes. So a record that
 * was acknowledged has been read; one that comes too late is refused; and the outcome of one in between is unknown.
 *
 * No segment takes a record before its owner has made a commit in IndexedDB that fails if a later owner has raised the epoch. A later owner
 * lists the segments after it raises the epoch, so it finds them all.
 */
class OpfsJournalFile implements JournalFile {
  readonly #options: JournalFileOptions;
  readonly #getDirectory: GetDirectory;
  readonly #recordsBefore: number;
  readonly #token: string;
  readonly #encoder = new RecordEncoder(crc32);
  readonly #seal = new Uint8Array(1);
  #current: Segment | undefined;
  /** Segments with records that are still needed. */
  #ended: readonly string[];
  /** Segments to remove when their truncation is durable. */
  #retired: readonly string[] = [];
  /** Records that are only in files. */
  #unsaved: JournalRecord[];
  #waiting = 0;
  #isSealed = false;
  #isMaking = false;
  #knowsForeign = false;
  /** Whether no more segments are made: not possible here, the journal is closed, or the file system refused something. */
  #isOver = !canWriteAtOnce();

  constructor(options: JournalFileOptions, getDirectory: GetDirectory, recordsBefore: number) {
    const { former } = options;
    this.#options = options;
    this.#getDirectory = getDirectory;
    this.#recordsBefore = recordsBefore;
    this.#token = former?.token ?? crypto.randomUUID();
    this.#ended = former?.names ?? [];
    this.#unsaved = [...(former?.unsaved ?? [])];
  }

  get isOpen(): boolean {
    return this.#current !== undefined;
  }

  append(record: JournalRecord): boolean {
    this.#mustBeCurrent();
    const current = this.#current;
    if (current === undefined) {
      this.#waiting += 1;
      if (this.#waiting >= this.#recordsBefore && !this.#isMaking && !this.#isOver) void this.#make();
      return false;
    }
    // UTF-8 can't encode half a surrogate pair, and this is not for long records.
    if (record.text.length > MAX_TAIL_BYTES || !record.text.isWellFormed()) return false;
    if (!this.#tryWrite(current, record)) {
      this.#giveUp(current);
      return false;
    }
    this.#unsaved.push(record);
    return true;
  }

  unsaved({ durability, head, truncateJournal }: Commit): readonly JournalRecord[] {
    this.#mustBeCurrent();
    if (durability === 'relaxed' && head === undefined && truncateJournal === undefined) return [];
    return this.#unsaved.filter(({ number }) => number >= (truncateJournal ?? 0));
  }

  committed({ durability, truncateJournal }: Commit, saved: readonly JournalRecord[]): void {
    const from = Math.max((saved.at(-1)?.number ?? 0) + 1, truncateJournal ?? 0);
    this.#unsaved = this.#unsaved.filter(({ number }) => number >= from);
    if (truncateJournal !== undefined) this.#truncate();
    if (this.#retired.length === 0) return;
    if (durability === 'strict') this.#removeRetired(this.#retired);
    else if (truncateJournal !== undefined) void this.#removeWhenDurable(this.#retired);
  }

  close(): void {
    this.#isOver = true;
    this.#endSegment();
  }

  async remove(): Promise<void> {
    this.close();
    const names = [...this.#retired, ...this.#ended];
    this.#retired = [];
    this.#ended = [];
    await this.#removeAll(names);
  }

  /** Returns whether the record is in the file. A failure most likely means a full disk: IndexedDB reports that, or takes the record. */
  #tryWrite(segment: Segment, record: JournalRecord): boolean {
    const { access } = segment;
    try {
      this.#isSealed = this.#findsSeal(access);
    } catch {
      return false;
    }
    this.#mustBeCurrent();
    const bytes = this.#encoder.encode(record);
    try {
      if (access.write(bytes, { at: segment.bytes }) !== bytes.length) return false;
    } catch {
      return false;
    }
    segment.bytes += bytes.length;
    this.#mustBeUnread(access);
    return true;
  }

  /** Checks after writing a record. If the segment is sealed by then, it is unknown whether the later owner has read the record. */
  #mustBeUnread(access: FileSystemSyncAccessHandle): void {
    try {
      if (!this.#findsSeal(access)) return;
    } catch {
      // A header that can't be read counts as sealed.
    }
    this.#isSealed = true;
    // Not `storage_fenced`: that means that nothing was written, so the request would be retried.
    throw new DatabaseError(
      'write_outcome_unknown',
      `File "${this.#options.file}" was opened by another owner during this write, which may have been carried out or not; read before you write again`,
    );
  }

  #findsSeal(access: FileSystemSyncAccessHandle): boolean {
    if (access.read(this.#seal, { at: 0 }) !== 1) throw new Error('the header is gone');
    return this.#seal[0] !== 0;
  }

  /** Gives up a segment. A partly written record does no harm: it goes to IndexedDB, which takes precedence over files. */
  #giveUp(segment: Segment): void {
    try {
      segment.access.truncate(segment.bytes);
    } catch {
      // As above.
    }
    this.close();
  }

  #mustBeCurrent(): void {
    if (this.#isSealed) throw storageFenced(this.#options.file);
  }

  /** Retires the segments: all that they hold is in IndexedDB by then, or was removed. */
  #truncate(): void {
    this.#waiting = 0;
    if (this.#current !== undefined && this.#current.bytes > HEADER_BYTES) this.#endSegment();
    this.#retired = [...this.#retired, ...this.#ended];
    this.#ended = [];
  }

  #endSegment(): void {
    const current = this.#current;
    if (current === undefined) return;
    this.#current = undefined;
    current.access.close();
    this.#ended = [...this.#ended, current.name];
  }

  /** Waits, because a power cut may undo the truncation until it is durable. */
  async #removeWhenDurable(names: readonly string[]): Promise<void> {
    try {
      await this.#writeHead('a flush', 'strict', (head) => head.put(this.#options.epoch, 'flushed'));
      this.#removeRetired(names);
    } catch {
      // They go with the next truncation, or when the file is opened next.
    }
  }

  #removeRetired(names: readonly string[]): void {
    this.#retired = this.#retired.filter((name) => !names.includes(name));
    void this.#removeAll(names);
  }

  async #make(): Promise<void> {
    this.#isMaking = true;
    const name = `${this.#token}-${this.#options.epoch}-${crypto.randomUUID()}`;
    try {
      const folder = must(await openFolder(this.#getDirectory, this.#options.database.name, true));
      const foreign = this.#knowsForeign ? [] : await this.#foreignIn(folder);
      const file = await folder.getFileHandle(name, { create: true });
      const access = await this.#openSegment(file);
      // Only now is it known that no later owner has made them.
      await this.#removeAll(foreign);
      this.#knowsForeign = true;
      if (this.#isOver) access.close();
      else this.#current = { name, access, bytes: HEADER_BYTES };
    } catch {
      // Without a segment records go to IndexedDB, where a writer gets the error.
      this.#isOver = true;
    }
    this.#isMaking = false;
    if (this.#isOver) await this.#removeAll([name]);
  }

  /** Records that there are segments, as only the file's owner can. */
  async #openSegment(file: FileSystemFileHandle): Promise<FileSystemSyncAccessHandle> {
    const access = await file.createSyncAccessHandle(SHARED);
    try {
      access.write(new Uint8Array(HEADER_BYTES), { at: 0 });
      // In the same turn as the commit: a commit made by closing then comes after it.
      assert(!this.#isOver, 'the journal was closed meanwhile');
      await this.#writeHead('beginning a journal file', 'relaxed', (head) => head.put(this.#token, 'segments'));
      return access;
    } catch (error) {
      access.close();
      throw error;
    }
  }

  #writeHead(what: string, durability: Commit['durability'], write: (head: IDBObjectStore) => void): Promise<void> {
    const { file, database, epoch, deadlineMs } = this.#options;
    const options = { file, what, deadlineMs, durability, stores: ['head'], epoch, commitsEarly: true };
    return runWrite(database, options, (transaction) => write(transaction.objectStore('head')));
  }

  /** Returns segments of an earlier file of the same name. */
  async #foreignIn(folder: FileSystemDirectoryHandle): Promise<string[]> {
    const names: string[] = [];
    for await (const name of folder.keys()) if (!name.startsWith(this.#token)) names.push(name);
    return names;
  }

  /** Removes segments. A frozen tab may have one open: it holds nothing that is needed, and is removed with the file. */
  async #removeAll(names: readonly string[]): Promise<void> {
    const folder = await openFolder(this.#getDirectory, this.#options.database.name, false).catch(() => undefined);
    for (const name of names) await folder?.removeEntry(name).catch(() => undefined);
  }
}
