import { DatabaseError } from '../../base/errors/database-error.ts';
import { assert, must } from '../../base/shared/assert.ts';
import { crc32 } from '../../base/shared/crc32.ts';
import { RecordEncoder } from '../journal-record.ts';
import type { Commit, JournalRecord } from '../page-store.ts';
import { storageFenced } from '../storage-errors.ts';
import type { JournalFile, JournalFileParts } from './journal-files.ts';
import { canWriteAtOnce, type GetDirectory, HEADER_BYTES, openFolder, SHARED } from './journal-folder.ts';
import { runWrite } from './write-transaction.ts';

/** Of a record's text, in UTF-16 code units: the encoder's buffer stays as large as the longest needs it. */
const LONGEST = 64 * 1024;

/** The segment that records are appended to. */
interface Segment {
  readonly name: string;
  readonly access: FileSystemSyncAccessHandle;
  bytes: number;
}

/**
 * Segments are files that one owner appends to: a header, then records as `journal-record.ts` has them. A later owner writes a seal into
 * the header before it reads; an owner looks for the seal before each record that it writes, and behind it. So a record that
 * was acknowledged has been read; one that comes too late is refused; and of one in between nobody knows.
 *
 * No segment takes a record before its owner has made a commit in IndexedDB that is refused once a later owner has raised the epoch, and
 * that one lists the segments behind it: none escapes.
 */
export class OpfsJournalFile implements JournalFile {
  readonly #parts: JournalFileParts;
  readonly #getDirectory: GetDirectory;
  readonly #recordsBefore: number;
  readonly #token: string;
  readonly #encoder = new RecordEncoder(crc32);
  readonly #seal = new Uint8Array(1);
  #current: Segment | undefined;
  /** Segments that hold records which are still needed. */
  #ended: readonly string[];
  /** Those that will be removed when the truncation that they were for is durable. */
  #retired: readonly string[] = [];
  /** Records that are in files alone. */
  #unsaved: JournalRecord[];
  #waiting = 0;
  #isSealed = false;
  #isMaking = false;
  #knowsForeign = false;
  /** No more segments are made: it can't be done here, the journal is closed, or the file system has refused something. */
  #isOver = !canWriteAtOnce();

  constructor(parts: JournalFileParts, getDirectory: GetDirectory, recordsBefore: number) {
    const { former } = parts;
    this.#parts = parts;
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
    // UTF-8 has nothing for half a character, and long records are not what this is for.
    if (record.text.length > LONGEST || !record.text.isWellFormed()) return false;
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

  /** Whether the record is in the file. What fails is most likely a full disk: IndexedDB will say so, or take the record. */
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

  /** Called when a record was written. Where the segment is sealed by then, nobody knows whether the later owner has read the record. */
  #mustBeUnread(access: FileSystemSyncAccessHandle): void {
    try {
      if (!this.#findsSeal(access)) return;
    } catch {
      // A header that can't be read counts as sealed.
    }
    this.#isSealed = true;
    // Not `storage_fenced`: that means that nothing was written, so the request would be sent again.
    throw new DatabaseError(
      'write_outcome_unknown',
      `File "${this.#parts.file}" was opened by another owner in the middle of this write, which may have been carried out or not; read before you write again`,
    );
  }

  #findsSeal(access: FileSystemSyncAccessHandle): boolean {
    if (access.read(this.#seal, { at: 0 }) !== 1) throw new Error('the header is gone');
    return this.#seal[0] !== 0;
  }

  /** What was written in part does no harm: the record goes to IndexedDB, which counts before files. */
  #giveUp(segment: Segment): void {
    try {
      segment.access.truncate(segment.bytes);
    } catch {
      // As above.
    }
    this.close();
  }

  #mustBeCurrent(): void {
    if (this.#isSealed) throw storageFenced(this.#parts.file);
  }

  /** All that segments hold is in IndexedDB then, or was removed. */
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

  /** Until the truncation is durable, a power cut may take it back. */
  async #removeWhenDurable(names: readonly string[]): Promise<void> {
    try {
      await this.#writeHead('a flush', 'strict', (head) => head.put(this.#parts.epoch, 'flushed'));
      this.#removeRetired(names);
    } catch {
      // They go with the next truncation, or by whoever opens the file next.
    }
  }

  #removeRetired(names: readonly string[]): void {
    this.#retired = this.#retired.filter((name) => !names.includes(name));
    void this.#removeAll(names);
  }

  async #make(): Promise<void> {
    this.#isMaking = true;
    const name = `${this.#token}-${this.#parts.epoch}-${crypto.randomUUID()}`;
    try {
      const folder = must(await openFolder(this.#getDirectory, this.#parts.database.name, true));
      const foreign = this.#knowsForeign ? [] : await this.#foreignIn(folder);
      const file = await folder.getFileHandle(name, { create: true });
      const access = await this.#openSegment(file);
      // Only now it is known that no later owner has made them.
      await this.#removeAll(foreign);
      this.#knowsForeign = true;
      if (this.#isOver) access.close();
      else this.#current = { name, access, bytes: HEADER_BYTES };
    } catch {
      // Without a segment records go to IndexedDB, where a writer learns what is wrong.
      this.#isOver = true;
    }
    this.#isMaking = false;
    if (this.#isOver) await this.#removeAll([name]);
  }

  /** Writes down that there are segments, as nobody but the file's owner can. */
  async #openSegment(file: FileSystemFileHandle): Promise<FileSystemSyncAccessHandle> {
    const access = await file.createSyncAccessHandle(SHARED);
    try {
      access.write(new Uint8Array(HEADER_BYTES), { at: 0 });
      // In the turn in which the commit is made: what closing says then comes behind it.
      assert(!this.#isOver, 'the journal was closed meanwhile');
      await this.#writeHead('beginning a journal file', 'relaxed', (head) => head.put(this.#token, 'segments'));
      return access;
    } catch (error) {
      access.close();
      throw error;
    }
  }

  #writeHead(what: string, durability: Commit['durability'], write: (head: IDBObjectStore) => void): Promise<void> {
    const { file, database, epoch, deadlineMs } = this.#parts;
    const options = { file, what, deadlineMs, durability, stores: ['head'], epoch, commitsEarly: true };
    return runWrite(database, options, (transaction) => write(transaction.objectStore('head')));
  }

  /** Segments of an earlier file of the same name. */
  async #foreignIn(folder: FileSystemDirectoryHandle): Promise<string[]> {
    const names: string[] = [];
    for await (const name of folder.keys()) if (!name.startsWith(this.#token)) names.push(name);
    return names;
  }

  /** A frozen tab may have one open. It holds nothing that is needed, and goes with the file. */
  async #removeAll(names: readonly string[]): Promise<void> {
    const folder = await openFolder(this.#getDirectory, this.#parts.database.name, false).catch(() => undefined);
    for (const name of names) await folder?.removeEntry(name).catch(() => undefined);
  }
}
