import { DatabaseError } from '../../../base/errors/database-error.ts';
import { assertFileName } from '../../backend-checks.ts';
import { type FileDraft, type FileState, type FileTarget, isSameState, type StoredPage } from '../../file-copy.ts';
import type { PageNumber } from '../../page-store.ts';
import { storageExists } from '../../storage-errors.ts';
import { booleanArray, bytesArray, int8Array } from '../binary-arrays.ts';
import type { Connection, ConnectionPool } from '../connection-pool.ts';
import { isUniqueViolation, toDatabaseError } from '../postgres-errors.ts';
import { FILE_FORMAT } from '../schema.ts';
import { numberOf } from '../values.ts';
import { pagesOf, type Run, readPages, readStoredFile } from './stored-file.ts';

/** A copy that is being made, with this before the name of its file … */
const UNFINISHED = '_copy.';
/** … and one that is complete. */
const COMPLETE = '_copied.';

/** Copies files into the tables of a storage. The caller owns the storage. */
export class PostgresFileTarget implements FileTarget {
  readonly #pool: ConnectionPool;

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
  }

  async draft(file: string, state: FileState): Promise<FileDraft> {
    assertFileName(file);
    try {
      return (
        (await this.#openSame(file, COMPLETE, state)) ??
        (await this.#openSame(file, UNFINISHED, state)) ??
        (await this.#create(file, state))
      );
    } catch (error) {
      throw toDatabaseError(error, file, 'copying it');
    }
  }

  async publish(files: readonly string[]): Promise<void> {
    const { schema } = this.#pool.address;
    const rename = `UPDATE ${schema}.files SET name = $1 WHERE name = $2`;
    try {
      await this.#pool.transaction('publishing copies', async (connection) => {
        for (const file of files) await connection.query(rename, [file, `${COMPLETE}${file}`]);
      });
    } catch (error) {
      const [file = '*'] = files;
      throw isUniqueViolation(error) ? storageExists(file) : toDatabaseError(error, file, 'publishing its copy');
    }
  }

  /** Like removed files, they lose their names, and a store removes what is left. */
  async removeDrafts(): Promise<void> {
    const { schema } = this.#pool.address;
    const text = `UPDATE ${schema}.files SET name = NULL WHERE starts_with(name, $1) OR starts_with(name, $2)`;
    await this.#pool.repeat('removing copies', (connection) => connection.query(text, [UNFINISHED, COMPLETE]));
  }

  async #openSame(file: string, prefix: string, state: FileState): Promise<PostgresFileDraft | undefined> {
    const { schema } = this.#pool.address;
    const run: Run = (text, values) =>
      this.#pool.repeat('reading a copy', (connection) => connection.query(text, values));
    const found = await readStoredFile(run, schema, `${prefix}${file}`);
    if (found === undefined) return undefined;
    const { id } = found;
    if (!isSameState(found.state, state)) {
      await run(`UPDATE ${schema}.files SET name = NULL WHERE id = $1`, [id]);
      return undefined;
    }
    const [row] = await run(`SELECT max(number) AS last FROM ${pagesOf(schema, id)} WHERE file = $1`, [id]);
    const nextPage = row?.['last'] === null ? 0 : numberOf(row?.['last']) + 1;
    return new PostgresFileDraft(this.#pool, { file, id, nextPage, isComplete: prefix === COMPLETE });
  }

  async #create(file: string, state: FileState): Promise<PostgresFileDraft> {
    const id = await this.#pool.transaction('beginning a copy', (connection) =>
      insertFile(connection, this.#pool.address.schema, `${UNFINISHED}${file}`, state),
    );
    return new PostgresFileDraft(this.#pool, { file, id, nextPage: 0, isComplete: false });
  }
}

/** LMDB does not say whether a page is text or bytes, and without a checksum the page does not, either. */
function noChecksum(file: string, page: PageNumber): DatabaseError {
  const reason = `File "${file}" can't be copied to PostgreSQL: its page ${page} has no valid checksum. If "settee verify" finds damage, restore the file from a backup. Otherwise a version without checksums wrote it: start a server on the data, and copy each database by "settee replicate" (docs/node.md#copying-to-and-from-postgresql)`;
  return new DatabaseError('storage_corrupt', reason);
}

/** Returns its id. An attempt that was carried out although its connection broke is replaced. */
async function insertFile(connection: Connection, schema: string, name: string, state: FileState): Promise<string> {
  const { epoch, head, journal, truncated, nextClaim } = state;
  await connection.query(`UPDATE ${schema}.files SET name = NULL WHERE name = $1`, [name]);
  const [row] = await connection.query(
    `INSERT INTO ${schema}.files (name, format, epoch, step, head, floor, truncated, page_bytes)
     VALUES ($1, $2, $3, 0, $4, $5, $6, 0) RETURNING id`,
    [name, FILE_FORMAT, epoch, head === undefined ? null : Buffer.from(head), nextClaim, truncated],
  );
  const id = String(row?.['id']);
  const insert = `INSERT INTO ${schema}.journal (file, number, value) VALUES ($1, $2, $3)`;
  for (const { number, text } of journal) await connection.query(insert, [id, number, Buffer.from(text)]);
  return id;
}

interface DraftRow {
  readonly file: string;
  readonly id: string;
  readonly nextPage: PageNumber;
  readonly isComplete: boolean;
}

class PostgresFileDraft implements FileDraft {
  readonly isComplete: boolean;
  readonly nextPage: PageNumber;
  readonly #pool: ConnectionPool;
  readonly #file: string;
  readonly #id: string;

  constructor(pool: ConnectionPool, { file, id, nextPage, isComplete }: DraftRow) {
    this.#pool = pool;
    this.#file = file;
    this.#id = id;
    this.nextPage = nextPage;
    this.isComplete = isComplete;
  }

  /** Sent again, pages that are there already stay as they are. */
  async write(pages: readonly StoredPage[]): Promise<void> {
    const unknown = pages.find(({ kind }) => kind === 'unknown');
    if (unknown !== undefined) {
      throw noChecksum(this.#file, unknown.number);
    }
    const insert = `INSERT INTO ${pagesOf(this.#pool.address.schema, this.#id)} (file, number, is_text, value)
      SELECT $1, page.number, page.is_text, page.value
      FROM unnest($2::bigint[], $3::boolean[], $4::bytea[]) AS page (number, is_text, value)
      ON CONFLICT (file, number) DO NOTHING`;
    await this.#run(insert, [
      this.#id,
      int8Array(pages.map(({ number }) => number)),
      booleanArray(pages.map(({ kind }) => kind === 'text')),
      bytesArray(pages.map(({ bytes }) => bytes)),
    ]);
  }

  pages(from: PageNumber): AsyncIterable<readonly StoredPage[]> {
    return readPages((text, values) => this.#run(text, values), this.#pool.address.schema, this.#id, from);
  }

  async complete(bytes: number): Promise<void> {
    const update = `UPDATE ${this.#pool.address.schema}.files SET name = $2, page_bytes = $3 WHERE id = $1`;
    await this.#run(update, [this.#id, `${COMPLETE}${this.#file}`, bytes]);
  }

  async close(): Promise<void> {}

  async #run(...[text, values]: Parameters<Run>): ReturnType<Run> {
    try {
      return await this.#pool.repeat('copying a file', (connection) => connection.query(text, values));
    } catch (error) {
      throw toDatabaseError(error, this.#file, 'copying it');
    }
  }
}
