/** What docs/operations.md has PostgreSQL do. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startServer } from '../../../src/node/server/server.ts';
import { PostgresStorage } from '../../../src/storage/postgres/postgres-storage.ts';
import { Cluster } from '../../support/postgres/cluster.ts';
import { mayBeMissing, openPool } from '../../support/postgres/postgres.ts';
import { readPage } from './pages.ts';

const { text } = readPage('docs/operations.md');
const blocks = [...text.matchAll(/^```sql\n(.*?)^```$/gms)].map(([, block = '']) => block);
const cluster = await Cluster.start();
if (cluster === undefined) mayBeMissing();

/** Runs statements, each of which ends a line with a semicolon, as the superuser. */
async function run(database: string, statements: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const url = new URL(cluster?.url() ?? '');
  url.pathname = `/${database}`;
  const pool = await openPool(`${url.href}?schema=scratch`);
  try {
    return await pool.use(async (connection) => {
      let rows: readonly Readonly<Record<string, unknown>>[] = [];
      // The body of a DO statement has semicolons, too; a text without parameters may have several statements.
      for (const statement of statements.split(/(?<=;)\n(?=[A-Z])/).filter((one) => one.trim() !== '')) {
        rows = await connection.query(statement);
      }
      return rows;
    });
  } finally {
    await pool.close();
  }
}

describe.skipIf(cluster === undefined)('the statements for PostgreSQL', () => {
  let storage = '';

  beforeAll(async () => {
    await run('postgres', blocks[0] ?? '');
    storage = `postgres://settee:choose%20one@127.0.0.1:${cluster?.port}/settee`;
    await (await PostgresStorage.open(storage, {})).close();
  });
  afterAll(() => cluster?.remove());

  test('make a role that can run a server, and nothing else', async () => {
    const server = await startServer({ port: 0, logLevel: 'none', storage });
    expect((await fetch(`${server.url}db`, { method: 'PUT' })).status).toBe(201);
    await server.close();
    const rights = await run(
      'settee',
      `SELECT rolsuper, rolcreatedb, rolcreaterole FROM pg_roles WHERE rolname = 'settee'`,
    );
    expect(rights).toEqual([{ rolsuper: false, rolcreatedb: false, rolcreaterole: false }]);
  });

  test('set the vacuum of all tables that grow', async () => {
    expect(blocks).toHaveLength(2);
    // The first line of the second block begins a statement with several lines that begin with words in capitals.
    const [body = '', ...others] = (blocks[1] ?? '').split(/(?<=END \$\$;)\n/);
    await run('settee', body.replaceAll('\n', ' '));
    await run('settee', others.join('\n'));
    const options = `SELECT relname FROM pg_class WHERE relnamespace = 'settee'::regnamespace AND relkind = 'r' AND reloptions::text LIKE '%autovacuum_vacuum_scale_factor%' ORDER BY relname`;
    const pages = Array.from({ length: 16 }, (_, part) => `pages_${part}`);
    const set = (await run('settee', options)).map(({ relname }) => relname);
    expect(set).toEqual(['files', 'journal', ...pages].sort());
    const toast = await run(
      'settee',
      `SELECT count(*)::text AS set FROM pg_class WHERE relkind = 't' AND reloptions::text LIKE '%autovacuum_vacuum_scale_factor=0.02%'`,
    );
    expect(toast).toEqual([{ set: '16' }]);
  });

  test('tell the size of a storage', async () => {
    const [, query = ''] = /`(SELECT pg_size_pretty[^`]*)`/.exec(text) ?? [];
    expect(await run('settee', query)).toEqual([{ pg_size_pretty: expect.stringMatching(/^\d+ kB$/) }]);
  });
});
