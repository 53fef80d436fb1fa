import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSandboxWorkers, readQuickJsWasm } from '../../../../src/node/server/platform.ts';
import type { ConnectionPool } from '../../../../src/storage/postgres/connection-pool.ts';
import { createPostgresPageStore } from '../../../../src/storage/postgres/postgres-page-store.ts';
import { CoreHost } from '../../../support/conformance/core-host.ts';
import { patient } from '../../../support/patience.ts';
import { CuttingProxy } from '../../../support/postgres/cutting-proxy.ts';
import { dropSchema, newSchema, openPool, postgresUrl } from '../../../support/postgres/postgres.ts';

const url = await postgresUrl();
const DOCUMENTS = 4000;

/** How many statements work takes whose pages are not in memory. Each is a round trip, which takes longer than anything else. */
describe.skipIf(url === undefined)('round trips to PostgreSQL', () => {
  let proxy: CuttingProxy;
  let pool: ConnectionPool;
  let host: CoreHost;
  let pages = 0;

  beforeAll(async () => {
    const target = new URL(newSchema(url ?? ''));
    proxy = await CuttingProxy.start(Number(target.port || 5432));
    target.host = `127.0.0.1:${proxy.port}`;
    pool = await openPool(target.href);
    // So that the statements of new connections are not counted later.
    await Promise.all(
      Array.from({ length: 10 }, () => pool.use((connection) => connection.query('SELECT pg_sleep(0.1)'))),
    );
    host = await CoreHost.start({
      name: 'trips',
      newStorage: async () => ({ open: () => createPostgresPageStore(pool), remove: () => dropSchema(pool) }),
      loadWasm: readQuickJsWasm,
      createWorkers: createSandboxWorkers,
    });
    await ask('PUT', '/db');
    for (let from = 0; from < DOCUMENTS; from += 500) {
      // The order of the ids is not that of the writes, so that neighbours lie in different pages.
      const docs = Array.from({ length: 500 }, (_, at) => ({
        _id: `${((from + at) * 7919) % 10_007}`.padStart(6, '0'),
        at: from + at,
        text: 'x'.repeat(400),
      }));
      await ask('POST', '/db/_bulk_docs', { docs });
    }
    await ask('PUT', '/db/_design/d', { views: { v: { map: 'function (doc) { emit(doc.at, doc.text); }' } } });
    await host.restart();
    const tables = Array.from({ length: 16 }, (_, at) => `SELECT count(*) FROM ${pool.address.schema}.pages_${at}`);
    const rows = await pool.use((connection) =>
      connection.query(`SELECT sum(count)::int AS pages FROM (${tables.join(' UNION ALL ')}) AS counts`),
    );
    pages = Number(rows[0]?.['pages']);
  }, 60_000);
  afterAll(async () => {
    await host.close();
    await pool.close();
    await proxy.close();
  });

  async function ask(method: string, path: string, body?: unknown): Promise<string> {
    const headers = { 'content-type': 'application/json' };
    const text = body === undefined ? null : JSON.stringify(body);
    const { status, bytes } = await host.send({ method, path, headers, body: text });
    expect(status, `${method} ${path}`).toBeLessThan(300);
    return new TextDecoder().decode(bytes);
  }

  async function statementsOf(work: () => Promise<unknown>): Promise<number> {
    proxy.cutAt(0, 'before');
    await work();
    return proxy.statements;
  }

  test.each([
    ['GET', '/db/_all_docs', 15],
    ['GET', '/db/_all_docs?include_docs=true', 45],
    ['GET', '/db/_changes', 15],
    ['GET', '/db/_changes?include_docs=true', 45],
    // It writes its own pages, too.
    ['GET', '/db/_design/d/_view/v', 65],
    // The root, a leaf, and a part of a page.
    ['GET', '/db/000007', 3],
    ['PUT', '/db/new', 8],
  ])('%s %s takes %i statements at most', async (method, path, most) => {
    await host.restart();
    await ask('GET', '/db');
    const statements = await statementsOf(() => ask(method, path, method === 'GET' ? undefined : {}));
    console.info(`${method} ${path}: ${statements} statements; the database has ${pages} pages`);
    expect(statements).toBeLessThanOrEqual(most);
  });

  test('a compaction reads the pages that it empties together', async () => {
    const rows: unknown = JSON.parse(await ask('GET', '/db/_all_docs')).rows;
    const docs = (Array.isArray(rows) ? rows : []).flatMap(({ id, value }, at) =>
      at % 2 === 0 && !id.startsWith('_') ? [{ _id: id, _rev: value.rev, _deleted: true }] : [],
    );
    for (let from = 0; from < docs.length; from += 500)
      await ask('POST', '/db/_bulk_docs', { docs: docs.slice(from, from + 500) });
    await host.restart();
    const statements = await statementsOf(async () => {
      await ask('POST', '/db/_compact', {});
      await expect.poll(async () => JSON.parse(await ask('GET', '/db')).compact_running, patient).toBe(false);
    });
    console.info(`compaction: ${statements} statements`);
    expect(statements).toBeLessThanOrEqual(60);
  });
});
