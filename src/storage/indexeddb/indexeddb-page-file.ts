import { type IDBPObjectStore, unwrap } from 'idb';
import { type DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import { assertCommit } from '../backend-checks.ts';
import { JournalSize } from '../journal-size.ts';
import type { FileLife } from '../open-files.ts';
import type { Commit, JournalRecord, Opening, PageFile, PageNumber, PageStoreSupport } from '../page-store.ts';
import { connectionLost, storageClosed, storageCorrupt, storageDeleted, storageFenced } from '../storage-errors.ts';
import { countAfterCommit } from './file-size.ts';
import { toDatabaseError, withDeadline } from './indexeddb-errors.ts';
import type { FormerSegments, JournalFile, JournalFiles, LoadJournalFiles } from './journal-files.ts';
import type { Ownership } from './ownership.ts';
import { PageReader } from './page-reader.ts';
import { ReadAhead, type ReadAheadRoom } from './read-ahead.ts';
import type { FileDatabase, FileSchema, PageCounts } from './schema.ts';
import { type EarlyCommits, runWrite } from './write-transaction.ts';

const NUMBERS_PER_BATCH = 1000;
/** A commit may take this many times as long as a read: slow media were seen to delay writes for seconds. */
const PATIENCE = 3;
/**
 * Failures of the last flush that need no report: the file is another owner's, or the browser has closed it; or there is no
 * room for it, and everything stays where it is.
 */
const ENDS_FLUSH = ['storage_fenced', 'storage_closed', 'write_outcome_unknown', 'storage_full'] as const;

interface IndexedDbPageFileOptions {
  readonly name: string;
  readonly database: FileDatabase;
  /** Ended by the code that watches the connection. */
  readonly life: FileLife;
  readonly ownership: Ownership;
  readonly support: PageStoreSupport;
  readonly deadlineMs: number;
  readonly earlyCommits: EarlyCommits;
  readonly room: ReadAheadRoom;
  readonly journalFiles: LoadJournalFiles | undefined;
  readonly onClosed: (file: IndexedDbPageFile) => void;
}

/**
 * One owner's connection to a file. A journal record is added, never put, so its transaction needs only the journal: a
 * stale owner's next number is its successor's claim. All other commits are fenced in their own transaction: by the
 * unique index `holder` if they are committed early, otherwise by the epoch that they read.
 */
export class IndexedDbPageFile implements PageFile {
  readonly name: string;
  readonly opening: Opening;
  readonly #database: FileDatabase;
  readonly #raw: IDBDatabase;
  readonly #support: PageStoreSupport;
  readonly #deadlineMs: number;
  readonly #earlyCommits: EarlyCommits;
  readonly #onClosed: (file: IndexedDbPageFile) => void;
  readonly #life: FileLife;
  readonly #pages: ReadAhead;
  /** Claims the file, if there was no room for that when it was opened. */
  #claim: Ownership['claim'];
  /** Numbers of the claims that a truncation must keep. */
  #claims: readonly number[];
  /** Set until it was called. */
  #loadJournalFiles: LoadJournalFiles | undefined;
  #journalFile: JournalFile | undefined;
  readonly #journalSize: JournalSize;
  #nextJournal: number;
  #journalFloor: number;
  #pageCounts: PageCounts;
  #headLength: number;
  #hasUnflushed = true;
  /** Number of running commits that change pages: reads wait for them. */
  #pageCommits = 0;
  #closing: Promise<void> | undefined;

  constructor(options: IndexedDbPageFileOptions) {
    const { name, database, life, ownership, support, deadlineMs, earlyCommits, room, onClosed } = options;
    this.name = name;
    this.opening = ownership.opening;
    this.#database = database;
    this.#raw = unwrap(database);
    this.#life = life;
    this.#support = support;
    this.#deadlineMs = deadlineMs;
    this.#earlyCommits = earlyCommits;
    this.#onClosed = onClosed;
    this.#claim = ownership.claim;
    this.#claims = ownership.claims;
    this.#journalSize = new JournalSize(this.opening.journal);
    this.#headLength = this.opening.head?.length ?? 0;
    this.#nextJournal = this.opening.nextJournal;
    this.#journalFloor = ownership.journalFloor;
    this.#pageCounts = ownership.pageCounts;
    const refusal = (): DatabaseError | undefined => this.#life.refusal();
    const readDeadlineMs = (): number => (this.#pageCommits > 0 ? PATIENCE * deadlineMs : deadlineMs);
    const readerOptions = { file: name, deadlineMs: readDeadlineMs, refusal, commitsEarly: earlyCommits !== 'none' };
    this.#pages = new ReadAhead({
      reader: new PageReader(this.#raw, readerOptions),
      room,
      extent: () => ({ pages: this.#pageCounts.kept, bytes: this.#keptBytes }),
      listNumbers: () => this.#ask('listing its pages', 'pages', (pages) => pages.getAllKeys()),
    });
    this.#loadJournalFiles = options.journalFiles;
    if (ownership.claim === undefined) this.#takeOver(ownership);
  }

  /** Continues with what former owners wrote into segments. */
  #takeOver({ former }: Ownership): void {
    if (former === undefined) return;
    this.#loadJournalFiles = undefined;
    this.#openJournalFile(former.files, former);
  }

  read(page: PageNumber, kind: 'text'): Promise<string | undefined>;
  read(page: PageNumber, kind: 'bytes'): Promise<Uint8Array | undefined>;
  async read(page: PageNumber, kind: 'text' | 'bytes'): Promise<string | Uint8Array | undefined> {
    this.#life.mustBeOpen();
    const value = await this.#pages.read(page);
    if (value !== undefined && (typeof value === 'string') !== (kind === 'text')) {
      throw storageCorrupt(this.name, `page ${page} does not hold ${kind}`);
    }
    return value;
  }

  async commit(commit: Commit): Promise<void> {
    this.#life.beginOperation();
    try {
      assertCommit(commit, this.#nextJournal, this.#support.maxPageBytes);
      if (this.#claim !== undefined) await this.#claimLate(this.#claim);
      if (!this.#isInFile(commit)) await this.#write(commit);
      this.#note(commit);
    } finally {
      this.#life.endOperation();
    }
  }

  append(journal: JournalRecord): boolean {
    this.#life.mustBeOpen();
    const file = this.#claim === undefined ? this.#journalFile : undefined;
    if (file?.isOpen !== true) return false;
    const commit: Commit = { durability: 'relaxed', journal };
    assertCommit(commit, this.#nextJournal, this.#support.maxPageBytes);
    if (!file.append(journal)) return false;
    this.#note(commit);
    return true;
  }

  async *pageNumbers(from: PageNumber): AsyncIterable<readonly PageNumber[]> {
    let range = IDBKeyRange.lowerBound(from);
    for (;;) {
      const numbers = await this.#ask('listing its pages', 'pages', (pages) =>
        pages.getAllKeys(range, NUMBERS_PER_BATCH),
      );
      const last = numbers.at(-1);
      if (last === undefined) return;
      yield numbers;
      range = IDBKeyRange.lowerBound(last, true);
    }
  }

  async isCurrent(): Promise<boolean> {
    const epoch = await this.#ask('reading its epoch', 'head', (head) => head.get('epoch'));
    return epoch === (this.#claim === undefined ? this.opening.epoch : this.opening.epoch - 1);
  }

  /**
   * Browsers don't report the size of one database. So this returns the size of the journal and the head, plus the number of existing pages times
   * the mean length of all pages ever written.
   */
  async size(): Promise<number> {
    this.#life.mustBeOpen();
    return this.#keptBytes + this.#journalSize.bytes + this.#headLength;
  }

  get #keptBytes(): number {
    const { pages, bytes, kept } = this.#pageCounts;
    return Math.round((kept * bytes) / Math.max(pages, 1));
  }

  close(): Promise<void> {
    this.#closing ??= this.#release();
    return this.#closing;
  }

  /** Closes the file for the store that is about to remove it. */
  async discard(): Promise<void> {
    this.#life.refuse(() => storageDeleted(this.name));
    this.#pages.close();
    this.#journalFile?.close();
    await this.#life.whenIdle();
    this.#raw.close();
    this.#onClosed(this);
  }

  async #claimLate(claim: () => Promise<Ownership>): Promise<void> {
    const what = 'taking ownership';
    try {
      const ownership = await withDeadline(claim(), { file: this.name, what, deadlineMs: this.#deadlineMs });
      this.#claim = undefined;
      this.#claims = ownership.claims;
      this.#takeOver(ownership);
    } catch (error) {
      throw this.#life.refusal() ?? toDatabaseError(error, this.name, what);
    }
  }

  /** Notes a commit that was made. */
  #note(commit: Commit): void {
    this.#hasUnflushed = commit.durability === 'relaxed';
    this.#journalSize.committed(commit);
    this.#headLength = commit.head?.length ?? this.#headLength;
    if (commit.journal !== undefined) this.#nextJournal += 1;
  }

  async #write(commit: Commit): Promise<void> {
    const saved = this.#journalFile?.unsaved(commit) ?? [];
    const stores = storesOf(commit, saved.length > 0);
    const { epoch } = this.opening;
    const deadline = { file: this.name, what: 'a commit', deadlineMs: PATIENCE * this.#deadlineMs };
    const options = {
      ...deadline,
      stores,
      durability: commit.durability,
      epoch: checksEpoch(commit) ? epoch : undefined,
      commitsEarly: this.#commitsEarly(commit),
    };
    const counts = changesPages(commit);
    if (counts) this.#pageCommits += 1;
    try {
      const before = this.#pageCounts;
      const pageCounts = counts ? await countAfterCommit(this.#raw, { epoch, before, commit, deadline }) : before;
      await runWrite(this.#raw, options, (transaction) => {
        if (counts) transaction.objectStore('head').put(pageCounts, 'written');
        addRecords(transaction, saved);
        this.#issue(transaction, commit);
      });
      this.#pageCounts = pageCounts;
      this.#pages.forget(commit.dropPages ?? []);
    } catch (error) {
      throw this.#life.refusal() ?? (await this.#reasonOf(toDatabaseError(error, this.name, 'a commit')));
    } finally {
      if (counts) this.#pageCommits -= 1;
    }
    this.#journalFile?.committed(commit, saved);
    this.#journalFloor = Math.max(this.#journalFloor, commit.truncateJournal ?? 0);
  }

  #commitsEarly(commit: Commit): boolean {
    if (this.#earlyCommits !== 'appends') return this.#earlyCommits === 'all';
    return isAppend(commit);
  }

  /** Returns whether the commit is one journal record, and in a file now. */
  #isInFile(commit: Commit): boolean {
    const { journal, durability } = commit;
    if (journal === undefined || durability === 'strict' || !isAppend(commit)) return false;
    // If they can't be loaded, all records go to IndexedDB.
    this.#loadJournalFiles?.()
      .then((files) => this.#openJournalFile(files))
      .catch(() => undefined);
    this.#loadJournalFiles = undefined;
    return this.#journalFile?.append(journal) === true;
  }

  #openJournalFile(files: JournalFiles, former?: FormerSegments): void {
    if (!this.#life.isOpen) return;
    this.#journalFile = files.open({
      file: this.name,
      database: this.#raw,
      deadlineMs: this.#deadlineMs,
      epoch: this.opening.epoch,
      former,
    });
  }

  /**
   * Firefox says only that an early committed transaction was aborted, not which request failed. If the connection is still
   * open, a lost connection was not the reason: then nothing was written.
   */
  async #reasonOf(failure: DatabaseError): Promise<DatabaseError> {
    if (this.#earlyCommits !== 'appends' || failure.code !== 'write_outcome_unknown') return failure;
    const isCurrent = await this.isCurrent().catch(() => undefined);
    if (isCurrent === undefined) return failure;
    return isCurrent ? connectionLost(this.name) : storageFenced(this.name);
  }

  #issue(transaction: IDBTransaction, commit: Commit): void {
    const { journal, writePages, dropPages, head, truncateJournal } = commit;
    if (journal !== undefined) transaction.objectStore('journal').add(journal.text, journal.number);
    if (changesPages(commit)) {
      const pages = transaction.objectStore('pages');
      for (const { number, value } of writePages ?? []) pages.put(value, number);
      for (const number of dropPages ?? []) pages.delete(number);
    }
    if (head !== undefined) transaction.objectStore('head').put(head, 'head');
    if (truncateJournal !== undefined) this.#issueTruncation(transaction, truncateJournal);
    if (isEmpty(commit)) transaction.objectStore('head').put(this.opening.epoch, 'flushed');
  }

  #issueTruncation(transaction: IDBTransaction, below: number): void {
    if (below <= this.#journalFloor) return;
    const journal = transaction.objectStore('journal');
    journal.delete(IDBKeyRange.bound(this.#journalFloor, below, false, true));
    for (const [index, number] of this.#claims.entries()) {
      // Which epoch an old claim belongs to no longer matters; only that it is a number does.
      if (number >= this.#journalFloor && number < below) journal.put(index, number);
    }
    transaction.objectStore('head').put(below, 'journalFloor');
  }

  async #ask<S extends 'pages' | 'head', T>(
    what: string,
    name: S,
    run: (store: IDBPObjectStore<FileSchema, [S], S>) => Promise<T>,
  ): Promise<T> {
    this.#life.mustBeOpen();
    try {
      const { done, store } = this.#database.transaction(name);
      // If the request fails, this does, too, and must not go unhandled.
      done.catch(() => {});
      return await withDeadline(run(store), { file: this.name, what, deadlineMs: this.#deadlineMs });
    } catch (error) {
      throw this.#life.refusal() ?? toDatabaseError(error, this.name, what);
    }
  }

  async #release(): Promise<void> {
    const wasOpen = this.#life.isOpen;
    this.#life.refuse(() => storageClosed(`File "${this.name}"`));
    this.#pages.close();
    await this.#life.whenIdle();
    this.#journalFile?.close();
    try {
      if (wasOpen && this.#claim === undefined && (this.#hasUnflushed || this.#journalFile !== undefined))
        await this.#flush();
    } finally {
      this.#raw.close();
      this.#onClosed(this);
    }
  }

  /** A strict commit makes durable what was committed before it. A fenced owner has nothing left to report. */
  async #flush(): Promise<void> {
    try {
      const saved = this.#journalFile?.unsaved({ durability: 'strict' }) ?? [];
      const { epoch } = this.opening;
      const base = { file: this.name, what: 'its flush', deadlineMs: this.#deadlineMs, stores: ['head', 'journal'] };
      const options = { ...base, epoch, commitsEarly: this.#earlyCommits === 'all' };
      await runWrite(this.#raw, { ...options, durability: 'strict' }, (transaction) => {
        const head = transaction.objectStore('head');
        head.put(epoch, 'flushed');
        head.delete('segments');
        addRecords(transaction, saved);
      });
    } catch (error) {
      const failure = toDatabaseError(error, this.name, 'its flush');
      if (ENDS_FLUSH.some((code) => isDatabaseError(failure, code))) return;
      throw failure;
    }
    await this.#journalFile?.remove();
  }
}

function addRecords(transaction: IDBTransaction, records: readonly JournalRecord[]): void {
  for (const { number, text } of records) transaction.objectStore('journal').add(text, number);
}

/** Returns only the stores that the commit uses: others may use the rest meanwhile. */
function storesOf(commit: Commit, addsRecords: boolean): readonly string[] {
  const stores: string[] = [];
  if (addsRecords || commit.journal !== undefined || commit.truncateJournal !== undefined) stores.push('journal');
  if (changesPages(commit)) stores.push('pages');
  if (checksEpoch(commit) || changesPages(commit)) stores.push('head');
  return stores;
}

/** Returns whether it is only a journal record. */
function isAppend(commit: Commit): boolean {
  return !checksEpoch(commit) && !changesPages(commit);
}

/** A journal record is its own fence. A commit that replaces something is still fenced. */
function checksEpoch({ journal, head, truncateJournal }: Commit): boolean {
  return journal === undefined || head !== undefined || truncateJournal !== undefined;
}

function changesPages({ writePages, dropPages }: Commit): boolean {
  return writePages !== undefined || dropPages !== undefined;
}

function isEmpty(commit: Commit): boolean {
  const { journal, writePages, dropPages, head, truncateJournal } = commit;
  return [journal, writePages, dropPages, head, truncateJournal].every((part) => part === undefined);
}
