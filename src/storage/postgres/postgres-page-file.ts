import { isDatabaseError } from '../../base/errors/database-error.ts';
import { assertCommit } from '../backend-checks.ts';
import { JournalSize } from '../journal-size.ts';
import { FileLife } from '../open-files.ts';
import type { Commit, Opening, PageFile, PageNumber, PageStoreSupport } from '../page-store.ts';
import { storageClosed, storageDeleted } from '../storage-errors.ts';
import { Commits } from './commits.ts';
import type { ConnectionPool, Row, Statement, Value } from './connection-pool.ts';
import type { DurableHistory } from './durable-history.ts';
import { FileReads } from './file-reads.ts';
import type { AwaitedFollowers } from './following/awaited-followers.ts';
import type { Ownership } from './ownership.ts';
import type { ReadAheadRoom } from './read-ahead.ts';
import type { FileStatements } from './statements.ts';
import { numberOf } from './values.ts';

const NUMBERS_PER_BATCH = 1000;
/** Failures of the last flush that need no report: the file is another owner's, or gone. */
const ENDS_FLUSH = [
  ...(['storage_fenced', 'storage_deleted', 'storage_closed', 'write_outcome_unknown'] as const),
  // Reported where it is noticed, for the whole storage.
  'storage_rolled_back',
] as const;

interface PostgresPageFileOptions {
  readonly name: string;
  readonly pool: ConnectionPool;
  readonly statements: FileStatements;
  readonly ownership: Ownership;
  readonly support: PageStoreSupport;
  readonly room: ReadAheadRoom;
  readonly onLoss: (loss: string) => void;
  readonly history: DurableHistory;
  readonly followers: AwaitedFollowers;
  readonly onClosed: (file: PostgresPageFile) => void;
}

/** One owner's handle of a file. Reads and commits are statements, each on any connection of the pool. */
export class PostgresPageFile implements PageFile {
  readonly name: string;
  readonly opening: Opening;
  readonly #pool: ConnectionPool;
  readonly #statements: FileStatements;
  readonly #support: PageStoreSupport;
  readonly #onClosed: (file: PostgresPageFile) => void;
  readonly #id: string;
  readonly #life = new FileLife();
  readonly #reads: FileReads;
  readonly #followers: AwaitedFollowers;
  readonly #commits: Commits;
  readonly #journalSize: JournalSize;
  #headLength: number;
  #nextJournal: number;
  #hasUnflushed = false;
  /** Settles when all requested commits have ended. */
  #lastCommit: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(options: PostgresPageFileOptions) {
    const { name, pool, statements, ownership, support, room, history, followers, onLoss, onClosed } = options;
    const { id, owner, opening, pageBytes } = ownership;
    this.name = name;
    this.opening = opening;
    this.#pool = pool;
    this.#statements = statements;
    this.#support = support;
    this.#onClosed = onClosed;
    this.#id = id;
    this.#reads = new FileReads({ name, id, pool, statements, room, life: this.#life });
    this.#followers = followers;
    const { epoch, journal } = opening;
    const lastRecord = journal.at(-1)?.number;
    const known = { name, id, owner, epoch, pageBytes, lastRecord };
    this.#commits = new Commits({ pool, statements, ...known, history, onLoss });
    this.#journalSize = new JournalSize(journal);
    this.#headLength = opening.head?.length ?? 0;
    this.#nextJournal = opening.nextJournal;
  }

  read(page: PageNumber, kind: 'text'): Promise<string | undefined>;
  read(page: PageNumber, kind: 'bytes'): Promise<Uint8Array | undefined>;
  read(page: PageNumber, kind: 'text' | 'bytes'): Promise<string | Uint8Array | undefined> {
    return this.#reads.read(page, kind);
  }

  readRange(page: PageNumber, offset: number, length: number): Promise<Uint8Array | undefined> {
    return this.#reads.readRange(page, offset, length);
  }

  readAhead(pages: readonly PageNumber[]): void {
    this.#reads.readAhead(pages);
  }

  async commit(commit: Commit): Promise<void> {
    this.#life.beginOperation();
    try {
      await this.#inTurn(() => this.#commit(commit));
    } finally {
      this.#life.endOperation();
    }
  }

  async *pageNumbers(from: PageNumber): AsyncIterable<readonly PageNumber[]> {
    let start = from;
    for (;;) {
      const rows = await this.#ask('listing its pages', this.#statements.pageNumbers, [start, NUMBERS_PER_BATCH]);
      const numbers = rows.map((row) => numberOf(row['number']));
      const last = numbers.at(-1);
      if (last === undefined) return;
      yield numbers;
      if (last === Number.MAX_SAFE_INTEGER) return;
      start = last + 1;
    }
  }

  /**
   * Undefined if the last commit found no row of a follower: then none reads a state before that commit. A follower stores its row, waits until the
   * commits have ended that may have begun before it was there (`whenWritersEnded`), and only then reads its first state.
   */
  whenFollowersPass(): Promise<void> | undefined {
    return this.#commits.isFollowed === false ? undefined : this.#followers.whenPassed(this);
  }

  async isCurrent(): Promise<boolean> {
    this.#life.mustBeOpen();
    return this.#reads.named('reading its epoch', () => this.#inTurn(() => this.#commits.isCurrent()));
  }

  async size(): Promise<number> {
    this.#life.mustBeOpen();
    return this.#commits.pageBytes + this.#journalSize.bytes + this.#headLength;
  }

  close(): Promise<void> {
    this.#closing ??= this.#release();
    return this.#closing;
  }

  /** Closes the file for the store that is about to remove it. */
  async discard(): Promise<void> {
    this.#life.refuse(() => storageDeleted(this.name));
    this.#reads.close();
    this.#followers.forget(this);
    await this.#life.whenIdle();
    this.#onClosed(this);
  }

  /** Runs after the commits that were requested before. */
  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const done = this.#lastCommit.then(run);
    this.#lastCommit = done.catch((error: unknown) => {
      if (isDatabaseError(error, 'storage_deleted')) this.#life.refuse(() => storageDeleted(this.name));
    });
    return done;
  }

  async #commit(commit: Commit): Promise<void> {
    assertCommit(commit, this.#nextJournal, this.#support.maxPageBytes);
    await this.#commits.make(commit);
    this.#reads.forget(commit.dropPages ?? []);
    this.#hasUnflushed = commit.durability === 'relaxed';
    this.#journalSize.committed(commit);
    this.#headLength = commit.head?.length ?? this.#headLength;
    if (commit.journal !== undefined) this.#nextJournal += 1;
  }

  /** Runs a statement whose first value is the file. */
  #ask(what: string, statement: Statement, values: readonly Value[]): Promise<readonly Row[]> {
    this.#life.mustBeOpen();
    const ask = () => this.#pool.repeat(what, (connection) => connection.query(statement, [this.#id, ...values]));
    return this.#reads.named(what, ask);
  }

  async #release(): Promise<void> {
    const wasOpen = this.#life.isOpen;
    this.#reads.close();
    this.#followers.forget(this);
    this.#life.refuse(() => storageClosed(`File "${this.name}"`));
    await this.#life.whenIdle();
    try {
      // A strict commit makes durable what was committed before it.
      if (wasOpen && this.#hasUnflushed) await this.#commits.make({ durability: 'strict' });
    } catch (error) {
      if (!ENDS_FLUSH.some((code) => isDatabaseError(error, code))) throw error;
    } finally {
      this.#onClosed(this);
    }
  }
}
