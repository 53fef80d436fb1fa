import type { FileState, StoredPage } from '../../file-copy.ts';
import type { JournalRecord, PageNumber } from '../../page-store.ts';
import { storageNewerFormat } from '../../storage-errors.ts';
import type { Connection, Row } from '../connection-pool.ts';
import { FILE_FORMAT, PAGE_TABLES, pageTable } from '../schema.ts';
import { bytesOf, numberOf, textOf } from '../values.ts';

/** Journal records that are read at a time. */
const MAX_RECORDS = 64;
const MAX_PAGES = 256;
/** The number of pages in a batch is chosen such that it takes about this, judged by the batch before. */
const BATCH_BYTES = 4 * 2 ** 20;

/** A file as its rows say. */
export interface StoredFile {
  readonly id: string;
  readonly state: FileState;
}

/** Runs a statement on a connection: one of a snapshot, or one that is repeated if the connection breaks. */
export type Run = (text: string, values: Parameters<Connection['query']>[1]) => Promise<readonly Row[]>;

/** `name`: in the table. Undefined if there is none. */
export async function readStoredFile(run: Run, schema: string, name: string): Promise<StoredFile | undefined> {
  const columns = 'id, format, epoch, head, floor, truncated';
  const [row] = await run(`SELECT ${columns} FROM ${schema}.files WHERE name = $1`, [name]);
  if (row === undefined) return undefined;
  const format = numberOf(row['format']);
  if (format > FILE_FORMAT) throw storageNewerFormat(name, format, FILE_FORMAT);
  const id = String(row['id']);
  const truncated = numberOf(row['truncated']);
  const journal = await readJournal(run, schema, id, truncated);
  const nextClaim = Math.max(numberOf(row['floor']), (journal.at(-1)?.number ?? 0) + 1);
  const head = row['head'] === null ? undefined : textOf(bytesOf(row['head']));
  return { id, state: { epoch: numberOf(row['epoch']), head, journal, truncated, nextClaim } };
}

async function readJournal(run: Run, schema: string, id: string, from: number): Promise<JournalRecord[]> {
  const journal: JournalRecord[] = [];
  const text = `SELECT number, value FROM ${schema}.journal WHERE file = $1 AND number >= $2 ORDER BY number LIMIT ${MAX_RECORDS}`;
  for (let start = from; ; ) {
    const rows = await run(text, [id, start]);
    for (const row of rows) journal.push({ number: numberOf(row['number']), text: textOf(bytesOf(row['value'])) });
    if (rows.length < MAX_RECORDS) return journal;
    start = (journal.at(-1)?.number ?? start) + 1;
  }
}

export function pagesOf(schema: string, id: string): string {
  return pageTable(schema, Number(BigInt(id) % BigInt(PAGE_TABLES)));
}

export async function* readPages(
  run: Run,
  schema: string,
  id: string,
  from: PageNumber,
): AsyncGenerator<readonly StoredPage[]> {
  const text = `SELECT number, is_text, value FROM ${pagesOf(schema, id)} WHERE file = $1 AND number >= $2 ORDER BY number LIMIT $3`;
  let limit = 16;
  for (let start = from; ; ) {
    const rows = await run(text, [id, start, limit]);
    const pages = rows.map(toStoredPage);
    const last = pages.at(-1);
    if (last === undefined) return;
    yield pages;
    if (pages.length < limit) return;
    start = last.number + 1;
    const bytes = pages.reduce((sum, page) => sum + page.bytes.length, 1);
    limit = Math.max(1, Math.min(MAX_PAGES, Math.floor((BATCH_BYTES * pages.length) / bytes)));
  }
}

function toStoredPage(row: Row): StoredPage {
  const kind = row['is_text'] === true ? 'text' : 'bytes';
  return { number: numberOf(row['number']), kind, bytes: bytesOf(row['value']) };
}
