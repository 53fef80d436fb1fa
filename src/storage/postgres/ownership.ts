import type { JournalRecord, Opening } from '../page-store.ts';
import { storageExists, storageMissing, storageNewerFormat } from '../storage-errors.ts';
import type { Connection, ConnectionPool } from './connection-pool.ts';
import { inTransaction } from './connection-pool.ts';
import { DurableHistory } from './durable-history.ts';
import { FILE_FORMAT } from './schema.ts';
import type { Statements } from './statements.ts';
import { bytesOf, numberOf, textOf } from './values.ts';

/** Records that are read at a time when a file is opened. */
const RECORDS_AT_ONCE = 64;

/** A file, as its new owner finds it. */
export interface Ownership {
  readonly id: string;
  /** Names this owner among all that ever opened the file. */
  readonly owner: string;
  readonly opening: Opening;
  readonly pageBytes: number;
}

/**
 * Creates a file. If the connection breaks, a second attempt may find what the first one made: that file has an owner that no one knows of, so it
 * is opened.
 */
export async function createFile(pool: ConnectionPool, statements: Statements, name: string): Promise<Ownership> {
  let attempts = 0;
  const owner = crypto.randomUUID();
  const created = await pool.repeat('creating a file', async (connection) => {
    attempts += 1;
    const [row] = await connection.query(statements.create, [name, FILE_FORMAT, owner]);
    return row === undefined ? undefined : { id: String(row['id']), owner };
  });
  if (created !== undefined) {
    return { ...created, pageBytes: 0, opening: { epoch: 1, head: undefined, journal: [], nextJournal: 2 } };
  }
  const found = attempts > 1 ? await openFile(pool, statements, name, new DurableHistory()) : undefined;
  if (found === undefined || found.opening.head !== undefined || found.opening.journal.length > 0)
    throw storageExists(name);
  return found;
}

/**
 * Opens a file and fences its owner. If the connection breaks, the epoch may be raised twice, which does no harm. Fails with `storage_rolled_back`,
 * and changes nothing, if the database has lost an epoch that this process has had.
 */
export async function openFile(
  pool: ConnectionPool,
  statements: Statements,
  name: string,
  history: DurableHistory,
): Promise<Ownership> {
  const owner = crypto.randomUUID();
  return pool.repeat('opening a file', (connection) =>
    inTransaction(connection, () => takeOver(connection, statements, { name, owner, history })),
  );
}

interface NewOwner {
  readonly name: string;
  readonly owner: string;
  readonly history: DurableHistory;
}

async function takeOver(
  connection: Connection,
  statements: Statements,
  { name, owner, history }: NewOwner,
): Promise<Ownership> {
  const [found] = await connection.query(statements.find, [name]);
  if (found === undefined) throw storageMissing(name);
  const format = numberOf(found['format']);
  if (format > FILE_FORMAT) throw storageNewerFormat(name, format, FILE_FORMAT);
  const id = String(found['id']);
  // From here on the commits of earlier owners have ended, or wait for the row. Each statement sees what was committed before it.
  const [file = {}] = await connection.query(statements.raiseEpoch, [id, owner]);
  const epoch = numberOf(file['epoch']);
  history.mustBeNewEpoch(name, id, epoch);
  const truncated = numberOf(file['truncated']);
  const journal = await readJournal(connection, statements, id, truncated);
  const claim = Math.max(numberOf(file['floor']), (journal.at(-1)?.number ?? 0) + 1);
  await connection.query(statements.claim, [id, claim + 1]);
  // What a statement added that arrived after the record had been sent again, and removed.
  await connection.query(statements.removeLeftovers, [id, truncated]);
  return {
    id,
    owner,
    pageBytes: numberOf(file['page_bytes']),
    opening: {
      epoch,
      head: file['head'] === null ? undefined : textOf(bytesOf(file['head'])),
      journal,
      nextJournal: claim + 1,
    },
  };
}

async function readJournal(
  connection: Connection,
  statements: Statements,
  id: string,
  from: number,
): Promise<JournalRecord[]> {
  const journal: JournalRecord[] = [];
  for (let start = from; ; ) {
    const rows = await connection.query(statements.readJournal, [id, start, RECORDS_AT_ONCE]);
    for (const row of rows) journal.push({ number: numberOf(row['number']), text: textOf(bytesOf(row['value'])) });
    if (rows.length < RECORDS_AT_ONCE) return journal;
    start = (journal.at(-1)?.number ?? start) + 1;
  }
}
