import { must } from '../../base/shared/assert.ts';
import type { Statement } from './connection-pool.ts';
import { PAGE_TABLES, pageTable } from './schema.ts';

export type Statements = ReturnType<typeof createStatements>;
/** Those for a file, whose pages are in one of the tables. */
export type FileStatements = Statements & ReturnType<typeof createPageStatements>;

/** What a relaxed commit sets `synchronous_commit` to, and what leaves it as it is. Valid until the end of the statement. */
const DURABILITY = (parameter: string) => `CASE WHEN ${parameter}::text IS NULL THEN NULL
  ELSE set_config('synchronous_commit', ${parameter}::text, true) END AS durability`;

/** `before`: the parameter with the last record of the journal, which may be NULL if there is none. */
const FOLLOWS = (schema: string, before: string) => `(${before}::bigint IS NULL
           OR EXISTS (SELECT FROM ${schema}.journal WHERE file = $1 AND number = ${before}::bigint))`;

/**
 * The statements of a storage. Each is carried out as a whole or not at all, at READ COMMITTED.
 *
 * A commit locks the file's row, and does nothing if there is none with the owner's epoch: to open the file, another owner changes that row first,
 * waits for the commits that hold it, and makes those that wait for it find a higher epoch. If the database goes back to an earlier state, an epoch
 * may be used again; so the row also names the owner.
 *
 * It also does nothing if the owner's commit before it is missing, which either counted a step or added the last record of the journal. PostgreSQL loses
 * commits only from the end: if that one is there, so are all before it. Only `append` does not look.
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
    /** file, epoch, number, value, durability, owner. For a connection that shows that the commit before is there (`Commits`). */
    append: statement('append', appendText(schema, 'true')),
    /** Like `append`, then the step and the last record. For any connection. */
    appendAfter: statement('append_after', appendText(schema, `step = $7 AND ${FOLLOWS(schema, '$8')}`)),
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

function appendText(schema: string, condition: string): string {
  return `WITH owner AS MATERIALIZED (
         SELECT id FROM ${schema}.files WHERE id = $1 AND epoch = $2 AND owner = $6 AND name IS NOT NULL AND ${condition} FOR SHARE
       ), added AS (
         INSERT INTO ${schema}.journal (file, number, value) SELECT id, $3::bigint, $4::bytea FROM owner RETURNING 1
       )
       SELECT ${DURABILITY('$5')} FROM added`;
}

function createPageStatements(schema: string, part: number) {
  const pages = pageTable(schema, part);
  return {
    /** file, epoch, step, last record, new record's number, its value, page numbers, whether they are texts, values, their bytes, drops, truncation, head, durability, owner */
    change: statement(
      `change_${part}`,
      `WITH owner AS MATERIALIZED (
         SELECT id FROM ${schema}.files
         WHERE id = $1 AND epoch = $2 AND step = $3 AND owner = $15 AND name IS NOT NULL AND ${FOLLOWS(schema, '$4')}
         FOR NO KEY UPDATE
       ), added AS (
         INSERT INTO ${schema}.journal (file, number, value)
         SELECT id, $5::bigint, $6::bytea FROM owner WHERE $5::bigint >= coalesce($12::bigint, 0)
       ), written AS (
         INSERT INTO ${pages} (file, number, is_text, value)
         SELECT owner.id, page.number, page.is_text, page.value
         FROM owner, unnest($7::bigint[], $8::boolean[], $9::bytea[]) AS page (number, is_text, value)
       ), dropped AS (
         DELETE FROM ${pages} WHERE file = $1 AND number = ANY ($11::bigint[]) AND EXISTS (SELECT FROM owner)
         RETURNING octet_length(value) AS bytes
       ), shortened AS (
         DELETE FROM ${schema}.journal WHERE file = $1 AND number < $12::bigint AND EXISTS (SELECT FROM owner)
       )
       UPDATE ${schema}.files SET step = step + 1, head = coalesce($13::bytea, head),
         floor = greatest(floor, $12::bigint), truncated = greatest(truncated, $12::bigint),
         page_bytes = page_bytes + $10::bigint - (SELECT coalesce(sum(bytes), 0) FROM dropped)
       WHERE id = (SELECT id FROM owner)
       RETURNING page_bytes, EXISTS (SELECT FROM ${schema}.followers) AS is_followed, ${DURABILITY('$14')}`,
    ),
    /** file, epoch, step, last record, page numbers, whether they are texts, values, owner. For what is too much for one statement: in a transaction with `change`. */
    writePages: statement(
      `write_pages_${part}`,
      `WITH owner AS MATERIALIZED (
         SELECT id FROM ${schema}.files
         WHERE id = $1 AND epoch = $2 AND step = $3 AND owner = $8 AND name IS NOT NULL AND ${FOLLOWS(schema, '$4')}
         FOR NO KEY UPDATE
       )
       INSERT INTO ${pages} (file, number, is_text, value)
       SELECT owner.id, page.number, page.is_text, page.value
       FROM owner, unnest($5::bigint[], $6::boolean[], $7::bytea[]) AS page (number, is_text, value)`,
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
