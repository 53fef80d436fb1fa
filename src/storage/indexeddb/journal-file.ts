import { crc32 } from '../../shared/crc32.ts';
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
  /** One above the last record's number; 0 while there is none. */
  end: number;
}

interface EndedSegment {
  readonly name: string;
  readonly end: number;
}

/**
 * Segments are files that one owner appends to: a header, then records as `journal-record.ts` has them. A later owner writes a seal into
 * the header before it reads; an owner looks for the seal behind each record that it has written, and before. So a record that
 * was acknowledged has been read, and one that came too late is refused.
 *
 * No segment takes a record before its owner has written something into IndexedDB that a later owner's claim refuses, and each later
 * owner lists the segments after its claim: none escapes it.
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
  #ended: readonly EndedSegment[];
  /** Those that will be removed when the truncation that they were for is durable. */
  #retired: readonly string[] = [];
  #unsaved: JournalRecord[];
  #made = 0;
  #waiting = 0;
  #isSealed = false;
  #isMaking = false;
  /** No more segments are made: it can't be done here, the journal is closed, or the file system has refused something. */
  #isOver = !canWriteAtOnce();

  constructor(parts: JournalFileParts, getDirectory: GetDirectory, recordsBefore: number) {
    const { former } = parts;
    this.#parts = parts;
    this.#getDirectory = getDirectory;
    this.#recordsBefore = recordsBefore;
    this.#token = former?.token ?? crypto.randomUUID();
    this.#ended = (former?.names ?? []).map((name) => ({ name, end: former?.end ?? 0 }));
    this.#unsaved = [...(former?.unsaved ?? [])];
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
    this.#mustBeCurrent();
    this.#unsaved.push(record);
    return true;
  }

  unsaved({ durability, truncateJournal = 0 }: Commit): readonly JournalRecord[] {
    this.#mustBeCurrent();
    return durability === 'strict' ? this.#unsaved.filter(({ number }) => number >= truncateJournal) : [];
  }

  committed({ durability, truncateJournal }: Commit, saved: readonly JournalRecord[]): void {
    const lastSaved = saved.at(-1)?.number ?? 0;
    if (truncateJournal !== undefined || lastSaved > 0) {
      const from = Math.max(lastSaved + 1, truncateJournal ?? 0);
      this.#unsaved = this.#unsaved.filter(({ number }) => number >= from);
    }
    if (truncateJournal !== undefined) this.#truncate(truncateJournal);
    if (durability === 'strict') {
      void this.#removeAll(this.#retired);
      this.#retired = [];
    } else if (truncateJournal !== undefined && this.#retired.length > 0) {
      // Until the truncation is durable, a power cut may take it back.
      this.#parts.flush().catch(() => undefined);
    }
  }

  close(): void {
    this.#isOver = true;
    this.#endSegment();
  }

  async remove(): Promise<void> {
    this.close();
    const names = [...this.#retired, ...this.#ended.map(({ name }) => name)];
    this.#retired = [];
    this.#ended = [];
    await this.#removeAll(names);
  }

  /**
   * Whether the record is in the file as a whole, or the file was sealed. What fails is most likely a full disk; IndexedDB will say so, or
   * take the record, unless a later owner has claimed its number.
   */
  #tryWrite(segment: Segment, record: JournalRecord): boolean {
    const { access } = segment;
    try {
      if (this.#findsSeal(access)) return true;
      const bytes = this.#encoder.encode(record);
      if (access.write(bytes, { at: segment.bytes }) !== bytes.length) return false;
      if (this.#findsSeal(access)) return true;
      segment.bytes += bytes.length;
      segment.end = record.number + 1;
      return true;
    } catch {
      return false;
    }
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

  #findsSeal(access: FileSystemSyncAccessHandle): boolean {
    access.read(this.#seal, { at: 0 });
    this.#isSealed = this.#seal[0] !== 0;
    return this.#isSealed;
  }

  #mustBeCurrent(): void {
    if (this.#isSealed) throw storageFenced(this.#parts.file);
  }

  #truncate(below: number): void {
    this.#waiting = 0;
    if (this.#current !== undefined && this.#current.end > 0) this.#endSegment();
    const gone = this.#ended.filter(({ end }) => end <= below);
    this.#ended = this.#ended.filter(({ end }) => end > below);
    this.#retired = [...this.#retired, ...gone.map(({ name }) => name)];
  }

  #endSegment(): void {
    const current = this.#current;
    if (current === undefined) return;
    this.#current = undefined;
    current.access.close();
    this.#ended = [...this.#ended, { name: current.name, end: current.end }];
  }

  async #make(): Promise<void> {
    this.#isMaking = true;
    this.#made += 1;
    const name = `${this.#token}-${this.#parts.epoch}-${this.#made}`;
    let access: FileSystemSyncAccessHandle | undefined;
    try {
      const folder = await openFolder(this.#getDirectory, this.#parts.database.name, true);
      if (this.#made === 1) await this.#removeForeign(folder);
      access = await (await folder?.getFileHandle(name, { create: true }))?.createSyncAccessHandle(SHARED);
      access?.write(new Uint8Array(HEADER_BYTES), { at: 0 });
      await this.#register();
    } catch {
      // Without a segment records go to IndexedDB, which tells whoever writes what is wrong.
      this.#isOver = true;
    }
    this.#isMaking = false;
    if (access === undefined) return;
    if (!this.#isOver) this.#current = { name, access, bytes: HEADER_BYTES, end: 0 };
    else {
      access.close();
      await this.#removeAll([name]);
    }
  }

  /** Writes down that there are segments, as nobody but the file's owner can. */
  #register(): Promise<void> {
    const { file, database, epoch, deadlineMs } = this.#parts;
    const options = {
      file,
      what: 'beginning a journal file',
      deadlineMs,
      stores: ['head'],
      epoch,
      commitsAtOnce: true,
    };
    return runWrite(database, { ...options, durability: 'relaxed' }, (transaction) =>
      transaction.objectStore('head').put(this.#token, 'segments'),
    );
  }

  /** Segments of an earlier file of the same name. */
  async #removeForeign(folder: FileSystemDirectoryHandle | undefined): Promise<void> {
    const names: string[] = [];
    for await (const name of folder?.keys() ?? []) if (!name.startsWith(this.#token)) names.push(name);
    await this.#removeAll(names);
  }

  /** A frozen tab may have one open. It holds nothing that is needed, and goes with the file. */
  async #removeAll(names: readonly string[]): Promise<void> {
    const folder = await openFolder(this.#getDirectory, this.#parts.database.name, false).catch(() => undefined);
    for (const name of names) await folder?.removeEntry(name).catch(() => undefined);
  }
}
