import { DatabaseError } from '../../base/errors/database-error.ts';
import { type ConnectionPool, inTransaction } from './connection-pool.ts';
import { isUniqueViolation } from './postgres-errors.ts';

/** The format of files that this version writes, and the newest that it reads. 1: the first. */
export const FILE_FORMAT = 1;

/**
 * Tables of pages: a file's are in the one that the remainder of its id says, and each has a vacuum of its own. They are plain tables rather than
 * partitions of one, since statements that name them need not find the partition each time, and since other servers of this protocol lack partitions.
 */
export const PAGE_TABLES = 16;

/** The table with the pages of a file. */
export function pageTable(schema: string, part: number): string {
  return `${schema}.pages_${part}`;
}

/**
 * Changes of the tables, each made once, in a transaction, in this order. What was released is never edited: what a later release needs is added
 * at the end. Values of pages are not compressed: most parts of them are read alone, and the network takes longer than the disk.
 *
 * - `files`: `floor` is the lowest number that the next owner may claim, `truncated` the lowest record that counts, `step` the number of commits
 *   of this epoch that changed the row, `page_bytes` the size of all pages, `owner` who raised the epoch. A removed file has no name, until its
 *   pages are gone.
 *   The name of a copy that is being made begins with "_" (copying/file-target.ts).
 * - `journal`: records as UTF-8.
 * - `pages_0` and so on: texts as UTF-8. There are none of a file that is not in `files`.
 * - `servers`: who runs on this storage; one of them owns it. Each renews its row, and counts its `beats`; `beaten_on` is when the database server
 *   was started that took the last one.
 * - `followers`: processes that read beside the owner (following/registration.ts). `passed` is the generation before which none of its states began.
 *   `knows_followers` in `servers`: whether the release of that server waits for them before it drops pages.
 *   `takes_part`: whether the server owns databases beside the owner of the storage (members/members.ts). `adopted` is the version of the membership
 *   that it has adopted. Releases before these columns add rows that don't take part, and may delete any row that has expired.
 * - `pins`: databases, by their names, whose owner is chosen by hand; `server` is what the coordinator wrote.
 * - `format`: one row, with the version of the tables; `term` is how often the storage has changed its owner, `generation` how often owners asked
 *   followers to give up older states. `membership` is the version of the membership: it is raised together with each change of the members and of
 *   the pins. `forwarding_key` is the secret by which the members know each other, as hexadecimal digits.
 * - `settings`: what the configuration file is to a data folder.
 */
const MIGRATIONS: readonly ((schema: string) => string)[] = [
  (schema) => `
CREATE TABLE ${schema}.files (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text UNIQUE,
  format integer NOT NULL,
  epoch bigint NOT NULL,
  step bigint NOT NULL,
  head bytea,
  floor bigint NOT NULL,
  truncated bigint NOT NULL,
  page_bytes bigint NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE ${schema}.journal (
  file bigint NOT NULL,
  number bigint NOT NULL,
  value bytea NOT NULL,
  PRIMARY KEY (file, number)
);
ALTER TABLE ${schema}.journal ALTER COLUMN value SET STORAGE EXTERNAL;
${Array.from({ length: PAGE_TABLES }, (_, part) => createPages(pageTable(schema, part))).join('\n')}
CREATE TABLE ${schema}.servers (
  id text PRIMARY KEY,
  is_owner boolean NOT NULL,
  described text NOT NULL,
  address text,
  until timestamptz NOT NULL
);
CREATE UNIQUE INDEX servers_owner ON ${schema}.servers (is_owner) WHERE is_owner;
CREATE TABLE ${schema}.settings (
  section text NOT NULL,
  key text NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (section, key)
);`,
  (schema) => `
ALTER TABLE ${schema}.format ADD COLUMN term bigint NOT NULL DEFAULT 0;
ALTER TABLE ${schema}.files ADD COLUMN owner text;
ALTER TABLE ${schema}.servers ADD COLUMN machine text;
ALTER TABLE ${schema}.servers ADD COLUMN beats bigint NOT NULL DEFAULT 0;
ALTER TABLE ${schema}.servers ADD COLUMN beaten_on text;`,
  (schema) => `
ALTER TABLE ${schema}.format ADD COLUMN generation bigint NOT NULL DEFAULT 0;
ALTER TABLE ${schema}.servers ADD COLUMN knows_followers boolean NOT NULL DEFAULT false;
CREATE TABLE ${schema}.followers (
  id text PRIMARY KEY,
  beats bigint NOT NULL,
  passed bigint NOT NULL,
  lease_ms bigint NOT NULL
) WITH (fillfactor = 50);`,
  (schema) => `
ALTER TABLE ${schema}.servers ADD COLUMN takes_part boolean NOT NULL DEFAULT false;
ALTER TABLE ${schema}.servers ADD COLUMN adopted bigint NOT NULL DEFAULT 0;
ALTER TABLE ${schema}.format ADD COLUMN membership bigint NOT NULL DEFAULT 0;
ALTER TABLE ${schema}.format ADD COLUMN forwarding_key text;
CREATE TABLE ${schema}.pins (
  name text PRIMARY KEY,
  server text NOT NULL
);`,
];

function createPages(table: string): string {
  return `CREATE TABLE ${table} (
  file bigint NOT NULL,
  number bigint NOT NULL,
  is_text boolean NOT NULL,
  value bytea NOT NULL,
  PRIMARY KEY (file, number)
);
ALTER TABLE ${table} ALTER COLUMN value SET STORAGE EXTERNAL;`;
}

/**
 * Creates the schema and its tables if they do not exist, and brings those of an earlier release up to date. Several servers may do so at the same
 * time. Rejects with `storage_newer_format` if a later release has changed the tables.
 */
export async function prepareSchema(pool: ConnectionPool): Promise<void> {
  const { schema } = pool.address;
  await pool.repeat('preparing its tables', async (connection) => {
    const exists = 'SELECT to_regnamespace($1) IS NOT NULL AS schema, to_regclass($2) IS NOT NULL AS tables';
    const [found] = await connection.query(exists, [schema, `${schema}.format`]);
    if (found?.['tables'] === true) return;
    // A user who owns the schema need not have the right to create others.
    if (found?.['schema'] !== true)
      await connection.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`).catch(ignoreIfThere);
    await connection
      .query(
        `CREATE TABLE IF NOT EXISTS ${schema}.format (id integer PRIMARY KEY, version integer NOT NULL, has_admins boolean NOT NULL)`,
      )
      .catch(ignoreIfThere);
    await connection.query(`INSERT INTO ${schema}.format VALUES (1, 0, false) ON CONFLICT (id) DO NOTHING`);
  });
  await pool.repeat('preparing its tables', (connection) =>
    inTransaction(connection, async () => {
      const [row] = await connection.query(`SELECT version FROM ${schema}.format WHERE id = 1 FOR UPDATE`);
      const version = Number(row?.['version']);
      if (version > MIGRATIONS.length) throw newerSchema(pool.address.place, version);
      for (const migrate of MIGRATIONS.slice(version)) await connection.query(migrate(schema));
      if (version < MIGRATIONS.length)
        await connection.query(`UPDATE ${schema}.format SET version = ${MIGRATIONS.length} WHERE id = 1`);
    }),
  );
}

/** Whether `prepareSchema` was ever called for that schema. */
export async function hasSchema(pool: ConnectionPool): Promise<boolean> {
  const text = 'SELECT to_regclass($1) IS NOT NULL AS is_there';
  const name = `${pool.address.schema}.format`;
  const [row] = await pool.repeat('looking for its tables', (connection) => connection.query(text, [name]));
  return row?.['is_there'] === true;
}

/** Of two that create the same at the same time, one fails on an index of the catalogue. */
function ignoreIfThere(error: unknown): void {
  if (!isUniqueViolation(error)) throw error;
}

function newerSchema(place: string, version: number): DatabaseError {
  return new DatabaseError(
    'storage_newer_format',
    `The tables at ${place} have version ${version}, this release knows versions up to ${MIGRATIONS.length}; update Settee to use them`,
  );
}
