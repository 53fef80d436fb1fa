/** A PostgreSQL server for tests: the one that TEST_POSTGRES_URL names, or one that all tests of a process share. */
import { randomBytes } from 'node:crypto';
import { ConnectionPool } from '../../../src/storage/postgres/connection-pool.ts';
import { createPostgresPageStore } from '../../../src/storage/postgres/postgres-page-store.ts';
import { PAGE_TABLES, prepareSchema } from '../../../src/storage/postgres/schema.ts';
import { readStorageUrl } from '../../../src/storage/postgres/storage-url.ts';
import type { StorageContext, StorageFactory } from '../../conformance/storage/suite.ts';
import { Cluster } from './cluster.ts';

let shared: Promise<string | undefined> | undefined;

/** Returns the server's URL. Undefined, and a line that says so, if there is no PostgreSQL; in CI that is a failure. */
export function postgresUrl(): Promise<string | undefined> {
  shared ??= findUrl();
  return shared;
}

async function findUrl(): Promise<string | undefined> {
  const given = process.env['TEST_POSTGRES_URL'];
  if (given !== undefined && given !== '') return given;
  const cluster = await Cluster.start();
  if (cluster === undefined) mayBeMissing();
  return cluster?.url();
}

/** Fails in CI, where a test that does not run must not look like one that passed. */
export function mayBeMissing(): void {
  const reason =
    'There is no PostgreSQL here: install it (Debian: apt-get install postgresql), or set TEST_POSTGRES_URL';
  if (process.env['SETTEE_CI'] !== undefined) throw new Error(reason);
  console.info(`${reason}. The tests that need it are skipped.`);
}

/** The URL of a schema that no one uses. */
export function newSchema(url: string): string {
  return `${url}${url.includes('?') ? '&' : '?'}schema=test_${randomBytes(6).toString('hex')}`;
}

/** Opens a pool on a schema of its own. */
export async function openPool(url: string): Promise<ConnectionPool> {
  const pool = await ConnectionPool.open(await readStorageUrl(url, {}));
  await prepareSchema(pool);
  return pool;
}

export async function dropSchema(pool: ConnectionPool): Promise<void> {
  await pool.use((connection) => connection.query(`DROP SCHEMA ${pool.address.schema} CASCADE`));
}

/** Takes away what version 4 of the tables has added. */
export async function toVersionThree(pool: ConnectionPool): Promise<void> {
  const { schema } = pool.address;
  const texts = [
    `DROP TABLE ${schema}.pins`,
    `ALTER TABLE ${schema}.servers DROP COLUMN takes_part, DROP COLUMN adopted`,
    `ALTER TABLE ${schema}.format DROP COLUMN membership, DROP COLUMN forwarding_key`,
    `UPDATE ${schema}.format SET version = 3`,
  ];
  for (const text of texts) await pool.use((connection) => connection.query(text));
}

/** The numbers of the records that the journal of a file holds, ascending. */
export async function recordNumbers(pool: ConnectionPool, file: string): Promise<readonly number[]> {
  const { schema } = pool.address;
  const text = `SELECT number::int FROM ${schema}.journal WHERE file = (SELECT id FROM ${schema}.files WHERE name = $1) ORDER BY number`;
  const rows = await pool.repeat('reading a journal', (connection) => connection.query(text, [file]));
  return rows.map(({ number }) => Number(number));
}

/** Contexts that share one schema, which is emptied after each. */
export function postgresFactory(url: string): StorageFactory {
  let opened: Promise<ConnectionPool> | undefined;
  return {
    create: async () => {
      opened ??= openPool(newSchema(url));
      const pool = await opened;
      const { schema } = pool.address;
      const context: StorageContext = {
        createStore: () => createPostgresPageStore(pool),
        makeNewer: async (file) => {
          const text = `UPDATE ${schema}.files SET format = 2 WHERE name = $1`;
          await pool.use((connection) => connection.query(text, [file]));
        },
      };
      return context;
    },
    dispose: async () => {
      const pool = await opened;
      if (pool === undefined) return;
      const pages = Array.from({ length: PAGE_TABLES }, (_, part) => `pages_${part}`);
      for (const table of ['files', 'journal', ...pages]) {
        await pool.use((connection) => connection.query(`DELETE FROM ${pool.address.schema}.${table}`));
      }
    },
  };
}
