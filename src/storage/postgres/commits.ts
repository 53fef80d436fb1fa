import { type DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import type { Commit, Page } from '../page-store.ts';
import { commitInDoubt, connectionLost, storageDeleted, storageFenced } from '../storage-errors.ts';
import { booleanArray, bytesArray, int8Array } from './binary-arrays.ts';
import { type Connection, type ConnectionPool, inTransaction, type Value } from './connection-pool.ts';
import type { DurableHistory } from './durable-history.ts';
import { failureOf, isUniqueViolation, toDatabaseError } from './postgres-errors.ts';
import type { FileStatements } from './statements.ts';
import { numberOf } from './values.ts';

/** Pages of more than this, in bytes, are sent in several statements of one transaction: the server holds the whole of a statement. */
const STATEMENT_BYTES = 4 * 2 ** 20;

interface CommitsOptions {
  readonly pool: ConnectionPool;
  readonly statements: FileStatements;
  readonly name: string;
  readonly id: string;
  readonly epoch: number;
  readonly owner: string;
  readonly pageBytes: number;
  /** The number of the last record in the journal; undefined if it holds none. */
  readonly lastRecord: number | undefined;
  /** Called if the database server has lost relaxed commits, with a sentence that says why. */
  readonly onLoss: (loss: string) => void;
  readonly history: DurableHistory;
}

/** What the database says about the file. */
interface FileState {
  readonly step: number;
  readonly pageBytes: number;
  readonly last: number;
}

/** What a commit has returned. */
interface Sent {
  /** The size of all pages afterwards. */
  readonly pageBytes: number;
  readonly isFollowed: boolean | undefined;
}

/** A commit that is being made. */
interface Attempt {
  commit: Commit;
  /** Whether a connection broke after the commit was sent: it may have been carried out, or may still be. */
  mayBeDone: boolean;
  /** Whether the commit was carried out, and all that is left is to make it durable. */
  isFlush: boolean;
}

const FLUSH: Commit = { durability: 'strict' };

/**
 * The commits of one owner of a file, one after another. A commit that changes the file's row counts a step; one that only appends a record is known by
 * the record's number. If a connection breaks, the next one is asked for that, and the commit is sent again only if it was not carried out.
 * Should the server carry out the first one after all, one of the two finds that step or number taken, and does nothing.
 *
 * A database server that was not waiting for its disk, or for its standby, loses the last commits when it crashes. So each commit requires, in its own
 * statement, that the one before it is there. A crash ends all connections, even if the server recovers by itself, as from the end of one of its processes.
 * So a connection that was open when the last commit was sent to the same server shows that it is there, and saves the search for it.
 */
export class Commits {
  readonly #options: CommitsOptions;
  #step = 0;
  #lastRecord: number | undefined;
  #pageBytes: number;
  /** What was stored for good: the step of the last strict commit, and the last record that it covers, if the journal still has it. */
  #durableStep = 0;
  #durableRecord: number | undefined;
  /** Where the last commit was sent, and the newest connection at that time; undefined if that is not known. */
  #sentTo: { readonly server: string; readonly newest: number } | undefined;
  #isFollowed: boolean | undefined;

  constructor(options: CommitsOptions) {
    this.#options = options;
    this.#lastRecord = options.lastRecord;
    // Opening the file made them durable.
    this.#durableRecord = options.lastRecord;
    this.#pageBytes = options.pageBytes;
  }

  /** Sum of the sizes of all pages. */
  get pageBytes(): number {
    return this.#pageBytes;
  }

  /** Whether there were followers of the storage at the beginning of the last commit; undefined if it did not ask. */
  get isFollowed(): boolean | undefined {
    return this.#isFollowed;
  }

  /**
   * Returns false if another owner has opened the file. Fails with `storage_closed` if the database has lost commits: then pages may be missing that were
   * written; with `storage_rolled_back` if strict ones are among them. To be called between commits.
   */
  isCurrent(): Promise<boolean> {
    const attempt: Attempt = { commit: FLUSH, mayBeDone: false, isFlush: false };
    return this.#options.pool.repeat('reading an epoch', async (connection) => {
      try {
        this.#mustHaveAll(await this.#mustBeOwner(connection, attempt));
        return true;
      } catch (error) {
        if (isDatabaseError(error, 'storage_fenced')) return false;
        throw error;
      }
    });
  }

  async make(commit: Commit): Promise<void> {
    const { pool, name } = this.#options;
    const attempt: Attempt = { commit, mayBeDone: false, isFlush: false };
    const patience = pool.patience('a commit');
    for (;;) {
      try {
        await pool.use((connection) => this.#try(connection, attempt));
        return;
      } catch (error) {
        if (failureOf(error) === 'final') throw this.#final(error, attempt);
        await patience.wait(error).catch((late: unknown) => {
          throw attempt.mayBeDone || attempt.isFlush ? commitInDoubt(name) : late;
        });
      }
    }
  }

  /** What refused the last attempt says nothing about those before it. */
  #final(error: unknown, { mayBeDone, isFlush }: Attempt): DatabaseError {
    const { name } = this.#options;
    const isOfFile = isDatabaseError(error) && error.code !== 'storage_full';
    return (mayBeDone || isFlush) && !isOfFile ? commitInDoubt(name) : toDatabaseError(error, name, 'a commit');
  }

  async #try(connection: Connection, attempt: Attempt): Promise<void> {
    if (attempt.mayBeDone) {
      const state = await this.#mustBeOwner(connection, attempt);
      if (this.#isDone(state, attempt.commit)) return this.#wasDone(connection, attempt, state);
      this.#mustHaveAll(state);
    }
    try {
      const sentTo = { server: connection.server, newest: this.#options.pool.newest };
      const sent = await this.#send(connection, attempt.commit);
      if (sent !== undefined) {
        this.#note(attempt.commit, sent);
        this.#sentTo = sentTo;
        return;
      }
    } catch (error) {
      if (failureOf(error) === 'lost') attempt.mayBeDone = true;
      // The number is taken by an attempt before this one.
      if (!(attempt.mayBeDone && isUniqueViolation(error))) throw error;
    }
    const state = await this.#mustBeOwner(connection, attempt);
    if (attempt.mayBeDone && this.#isDone(state, attempt.commit)) return this.#wasDone(connection, attempt, state);
    this.#mustHaveAll(state);
    throw this.#lost();
  }

  /** The commit is in the database, but the server may not have waited for a standby before the connection broke. */
  async #wasDone(connection: Connection, attempt: Attempt, { pageBytes }: FileState): Promise<void> {
    this.#note(attempt.commit, { pageBytes, isFollowed: undefined });
    this.#sentTo = undefined;
    if (attempt.commit.durability === 'relaxed' || attempt.isFlush) return;
    Object.assign(attempt, { commit: FLUSH, mayBeDone: false, isFlush: true });
    return this.#try(connection, attempt);
  }

  /** Whether the server behind the connection has not crashed since the last commit was sent. */
  #showsLast({ server, number }: Connection): boolean {
    return server === this.#sentTo?.server && number <= this.#sentTo.newest;
  }

  /** Returns undefined if the file is not as this owner left it. */
  async #send(connection: Connection, commit: Commit): Promise<Sent | undefined> {
    const { statements, id, epoch, owner } = this.#options;
    const last = this.#lastRecord ?? null;
    if (isAppend(commit)) {
      const { number, text } = commit.journal;
      const values = [id, epoch, number, Buffer.from(text), durabilityOf(commit), owner];
      const rows = this.#showsLast(connection)
        ? await connection.query(statements.append, values)
        : await connection.query(statements.appendAfter, [...values, this.#step, last]);
      return rows.length === 0 ? undefined : { pageBytes: this.#pageBytes, isFollowed: undefined };
    }
    const pieces = piecesOf(commit.writePages ?? []);
    const lastPiece = pieces.pop() ?? [];
    if (pieces.length === 0) return this.#change(connection, commit, lastPiece, []);
    return inTransaction(connection, async () => {
      for (const pages of pieces) {
        await connection.query(statements.writePages, [id, epoch, this.#step, last, ...pageValues(pages), owner]);
      }
      return this.#change(connection, commit, lastPiece, pieces.flat());
    });
  }

  async #change(
    connection: Connection,
    commit: Commit,
    pages: readonly Page[],
    written: readonly Page[],
  ): Promise<Sent | undefined> {
    const { statements, id, epoch, owner } = this.#options;
    const { journal, dropPages = [], truncateJournal = null, head } = commit;
    const [row] = await connection.query(statements.change, [
      ...[id, epoch, this.#step, this.#lastRecord ?? null],
      journal?.number ?? null,
      journal === undefined ? null : Buffer.from(journal.text),
      ...pageValues(pages),
      byteLengthOf(pages) + byteLengthOf(written),
      int8Array(dropPages),
      truncateJournal,
      head === undefined ? null : Buffer.from(head),
      durabilityOf(commit),
      owner,
    ]);
    return row && { pageBytes: numberOf(row['page_bytes']), isFollowed: row['is_followed'] === true };
  }

  #note(commit: Commit, { pageBytes, isFollowed }: Sent): void {
    if (!isAppend(commit)) this.#step += 1;
    this.#isFollowed = isFollowed;
    this.#pageBytes = pageBytes;
    this.#lastRecord = commit.journal?.number ?? this.#lastRecord;
    const truncated = commit.truncateJournal ?? 0;
    if ((this.#lastRecord ?? 0) < truncated) this.#lastRecord = undefined;
    if (commit.durability === 'strict') {
      this.#durableStep = this.#step;
      this.#durableRecord = this.#lastRecord;
    } else if ((this.#durableRecord ?? 0) < truncated) this.#durableRecord = undefined;
  }

  async #mustBeOwner(connection: Connection, { mayBeDone, isFlush }: Attempt): Promise<FileState> {
    const { statements, id, name, epoch, owner } = this.#options;
    const [row] = await connection.query(statements.state, [id]);
    if (row === undefined) throw storageDeleted(name);
    const found = numberOf(row['epoch']);
    // An epoch that was lost may be used again, by another owner.
    if (found > epoch || (found === epoch && row['owner'] !== owner))
      throw mayBeDone || isFlush ? commitInDoubt(name) : storageFenced(name);
    if (found < epoch) throw this.#rolledBack();
    const last = row['last'] === null ? 0 : numberOf(row['last']);
    return { step: numberOf(row['step']), pageBytes: numberOf(row['page_bytes']), last };
  }

  #isDone(state: FileState, commit: Commit): boolean {
    return isAppend(commit) ? state.last >= commit.journal.number : state.step === this.#step + 1;
  }

  #mustHaveAll({ step, last }: FileState): void {
    if (step < this.#durableStep || last < (this.#durableRecord ?? 0)) throw this.#rolledBack();
    if (step !== this.#step || last < (this.#lastRecord ?? 0)) throw this.#lost();
  }

  #rolledBack(): DatabaseError {
    return this.#options.history.lacks(`strict commits of the file "${this.#options.name}"`);
  }

  #lost(): DatabaseError {
    this.#options.onLoss('the PostgreSQL server crashed, or was replaced, and lacks the last relaxed commits');
    return connectionLost(this.#options.name);
  }
}

type Append = Commit & { readonly journal: NonNullable<Commit['journal']> };

function isAppend(commit: Commit): commit is Append {
  const { journal, writePages, dropPages, head, truncateJournal } = commit;
  return journal !== undefined && [writePages, dropPages, head, truncateJournal].every((part) => part === undefined);
}

function durabilityOf({ durability }: Commit): 'off' | null {
  return durability === 'relaxed' ? 'off' : null;
}

function pageValues(pages: readonly Page[]): Value[] {
  return [
    int8Array(pages.map(({ number }) => number)),
    booleanArray(pages.map(({ value }) => typeof value === 'string')),
    bytesArray(pages.map(({ value }) => value)),
  ];
}

function byteLengthOf(pages: readonly Page[]): number {
  return pages.reduce(
    (sum, { value }) => sum + (typeof value === 'string' ? Buffer.byteLength(value) : value.length),
    0,
  );
}

/** Returns the pages in pieces that one statement may have. */
function piecesOf(pages: readonly Page[]): Page[][] {
  const pieces: Page[][] = [];
  let bytes = 0;
  for (const page of pages) {
    if (pieces.length === 0 || bytes + page.value.length > STATEMENT_BYTES) {
      pieces.push([]);
      bytes = 0;
    }
    pieces.at(-1)?.push(page);
    bytes += page.value.length;
  }
  return pieces;
}
