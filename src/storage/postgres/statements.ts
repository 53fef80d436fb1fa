import { must } from '../../base/shared/assert.ts';
import type { Statement } from './connection-pool.ts';
import { PAGE_TABLES, pageTable } from './schema.ts';

export type Statements = ReturnType<typeof createStatements>;
/** Those for a file, whose pages are in one of the tables. */
export type FileStatements = Statements & ReturnType<typeof createPageStatements>;

/** What a relaxed commit sets `synchronous_commit` to, and what leaves it as it is. Valid until the end of the statement. */
const DURABILITY = (parameter: string) => `CASE WHEN ${parameter}::text IS NULL THEN NULL
  ELSE set_config('synchronous_commit', ${parameter}::text, true) END AS durability`;

/**
 * The statements of a storage. Each is carried out as a whole or not at all, at READ COMMITTED.
 *
 * A commit locks the file's row, and does nothing if there is none with the owner's epoch: to open the file, another owner changes that row first,
 * waits for the commits that hold it, and makes those that wait for it find a higher epoch. If the database goes back to an earlier state, an epoch
 * may be used again; so the row also names the owner.
 */
export class StatementSets {
  readonly common: Statements;
  readonly #files: readonly FileStatements[];

  constructor(schema: string) {
    const common = createStatements(schema);
    this.common = common;
    this.#files = Array.from({ length: PAGE_TABLES }, (_, part) => ({
      ...common,
      ...createPageStatements(schema, part),
    }));
  }

  /** `id`: of the file. */
  of(id: string): FileStatements {
    return must(this.#files[Number(BigInt(id) % BigInt(PAGE_TABLES))]);
  }
}

function statement(name: string, text: string): Statement {
  return { name: `settee_${name}`, text };
}

function createStatements(schema: string) {
  return {
    list: statement('list', `SELECT name FROM ${schema}.files WHERE name IS NOT NULL`),
    create: statement(
      'create',
      `INSERT INTO ${schema}.files (name, format, epoch, step, floor, truncated, page_bytes, owner) VALUES ($1, $2, 1, 0, 2, 0, 0, $3)
       ON CONFLICT (name) DO NOTHING RETURNING id`,
    ),
    /** What `find` returns, without its lock. */
    seek: statement('seek', `SELECT id, format FROM ${schema}.files WHERE name = $1`),
    size: statement(
      'size',
      `SELECT page_bytes + coalesce(octet_length(head), 0)
         + (SELECT coalesce(sum(octet_length(value)), 0) FROM ${schema}.journal WHERE file = $1) AS bytes
       FROM ${schema}.files WHERE id = $1 AND name IS NOT NULL`,
    ),
    find: statement('find', `SELECT id, format FROM ${schema}.files WHERE name = $1 FOR UPDATE`),
    raiseEpoch: statement(
      'raise_epoch',
      `UPDATE ${schema}.files SET epoch = epoch + 1, step = 0, owner = $2 WHERE id = $1
       RETURNING epoch, head, floor, truncated, page_bytes`,
    ),
    readJournal: statement(
      'read_journal',
      `SELECT number, value FROM ${schema}.journal WHERE file = $1 AND number >= $2 ORDER BY number LIMIT $3`,
    ),
    claim: statement('claim', `UPDATE ${schema}.files SET floor = $2 WHERE id = $1`),
    removeLeftovers: statement('remove_leftovers', `DELETE FROM ${schema}.journal WHERE file = $1 AND number < $2`),
    /** file, epoch, number, value, durability, owner */
    append: statement(
      'append',
      `WITH owner AS MATERIALIZED (
         SELECT id FROM ${schema}.files WHERE id = $1 AND epoch = $2 AND owner = $6 AND name IS NOT NULL FOR SHARE
       ), added AS (
         INSERT INTO ${schema}.journal (file, number, value) SELECT id, $3::bigint, $4::bytea FROM owner RETURNING 1
       )
       SELECT ${DURABILITY('$5')} FROM added`,
    ),
    state: statement(
      'state',
      `SELECT epoch, step, page_bytes, owner, (SELECT max(number) FROM ${schema}.journal WHERE file = $1) AS last
       FROM ${schema}.files WHERE id = $1 AND name IS NOT NULL`,
    ),
    /** Makes a file one that no one finds, and fences its owner. */
    remove: statement(
      'remove',
      `UPDATE ${schema}.files SET name = NULL, epoch = epoch + 1 WHERE name = $1 RETURNING id`,
    ),
    removed: statement('removed', `SELECT id FROM ${schema}.files WHERE name IS NULL`),
    removeJournal: statement('remove_journal', `DELETE FROM ${schema}.journal WHERE file = $1`),
    removeFile: statement('remove_file', `DELETE FROM ${schema}.files WHERE id = $1 AND name IS NULL`),
  };
}

function createPageStatements(schema: string, part: number) {
  const pages = pageTable(schema, part);
  return {
    /** file, epoch, step before, record's number, its value, page numbers, whether they are texts, values, their bytes, drops, truncation, head, durability, owner */
    change: statement(
      `change_${part}`,
      `WITH owner AS MATERIALIZED (
         SELECT id FROM ${schema}.files
         WHERE id = $1 AND epoch = $2 AND step = $3 AND owner = $14 AND name IS NOT NULL FOR NO KEY UPDATE
       ), added AS (
         INSERT INTO ${schema}.journal (file, number, value)
         SELECT id, $4::bigint, $5::bytea FROM owner WHERE $4::bigint >= coalesce($11::bigint, 0)
       ), written AS (
         INSERT INTO ${pages} (file, number, is_text, value)
         SELECT owner.id, page.number, page.is_text, page.value
         FROM owner, unnest($6::bigint[], $7::boolean[], $8::bytea[]) AS page (number, is_text, value)
       ), dropped AS (
         DELETE FROM ${pages} WHERE file = $1 AND number = ANY ($10::bigint[]) AND EXISTS (SELECT FROM owner)
         RETURNING octet_length(value) AS bytes
       ), shortened AS (
         DELETE FROM ${schema}.journal WHERE file = $1 AND number < $11::bigint AND EXISTS (SELECT FROM owner)
       )
       UPDATE ${schema}.files SET step = step + 1, head = coalesce($12::bytea, head),
         floor = greatest(floor, $11::bigint), truncated = greatest(truncated, $11::bigint),
         page_bytes = page_bytes + $9::bigint - (SELECT coalesce(sum(bytes), 0) FROM dropped)
       WHERE id = (SELECT id FROM owner)
       RETURNING page_bytes, EXISTS (SELECT FROM ${schema}.followers) AS is_followed, ${DURABILITY('$13')}`,
    ),
    /** file, epoch, step, page numbers, whether they are texts, values, owner. For what is too much for one statement: in a transaction with `change`. */
    writePages: statement(
      `write_pages_${part}`,
      `WITH owner AS MATERIALIZED (
         SELECT id FROM ${schema}.files
         WHERE id = $1 AND epoch = $2 AND step = $3 AND owner = $7 AND name IS NOT NULL FOR NO KEY UPDATE
       )
       INSERT INTO ${pages} (file, number, is_text, value)
       SELECT owner.id, page.number, page.is_text, page.value
       FROM owner, unnest($4::bigint[], $5::boolean[], $6::bytea[]) AS page (number, is_text, value)`,
    ),
    readPages: statement(
      `read_pages_${part}`,
      `SELECT number, is_text, value FROM ${pages} WHERE file = $1 AND number = ANY ($2::bigint[])`,
    ),
    /** file, page numbers, where each range begins, its bytes. In the order of the ranges; without those of pages that are not there. */
    readRanges: statement(
      `read_ranges_${part}`,
      `SELECT wanted.at, substring(page.value FROM wanted.start::int + 1 FOR wanted.length::int) AS value
       FROM unnest($2::bigint[], $3::bigint[], $4::bigint[]) WITH ORDINALITY AS wanted (number, start, length, at)
       JOIN ${pages} AS page ON page.file = $1 AND page.number = wanted.number AND NOT page.is_text`,
    ),
    pageNumbers: statement(
      `page_numbers_${part}`,
      `SELECT number FROM ${pages} WHERE file = $1 AND number >= $2 ORDER BY number LIMIT $3`,
    ),
    removePages: statement(
      `remove_pages_${part}`,
      `DELETE FROM ${pages} WHERE file = $1
       AND number = ANY (ARRAY(SELECT number FROM ${pages} WHERE file = $1 ORDER BY number LIMIT $2))`,
    ),
  };
}
