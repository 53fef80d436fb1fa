/** PostgreSQL that is far away: each trip takes 50 ms. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSandboxWorkers, readQuickJsWasm } from '../../src/node/server/platform.ts';
import { type RunningServer, startServer } from '../../src/node/server/server.ts';
import { CoreHost } from '../support/conformance/core-host.ts';
import { postgresStorage } from '../support/conformance/postgres-storage.ts';
import { registerSuites } from '../support/conformance/register.ts';
import { contentOf, fillServer } from '../support/known-content.ts';
import { isLongRun, roundsOf } from '../support/long-runs.ts';
import { Cluster } from '../support/postgres/cluster.ts';
import { CuttingProxy } from '../support/postgres/cutting-proxy.ts';
import { dropSchema, mayBeMissing, newSchema, openPool } from '../support/postgres/postgres.ts';

/** In each direction. */
const DELAY_MS = 25;
const CLIENTS = 20;
const WRITES = roundsOf(5, 50);
const PATIENCE = { timeout: 120_000, interval: 100 };
const TIMEOUT_MS = roundsOf(240_000, 1_200_000);

const cluster = await Cluster.start({ fsync: true });
if (cluster === undefined) mayBeMissing();
const proxy = cluster && (await CuttingProxy.start(cluster.port));
if (proxy !== undefined) proxy.delayMs = DELAY_MS;

afterAll(async () => {
  await proxy?.close();
  await cluster?.remove();
});

describe.skipIf(cluster === undefined)('servers whose PostgreSQL is 50 ms away', () => {
  const [postgres, far] = [cluster as Cluster, proxy as CuttingProxy];
  let storage = '';
  let near = '';
  let owner: RunningServer;
  let standby: RunningServer;

  const start = (url: string) => startServer({ port: 0, storage: url, logLevel: 'error' });

  beforeAll(async () => {
    near = newSchema(postgres.url());
    storage = far.url(new URL(near).search);
    owner = await start(storage);
    standby = await start(storage);
  }, 120_000);
  afterAll(async () => {
    for (const server of new Set([standby, owner])) await server.close();
    const pool = await openPool(near);
    await dropSchema(pool);
    await pool.close();
  }, 120_000);

  async function send(server: RunningServer, method: string, path: string, body?: unknown): Promise<unknown> {
    const headers = { 'content-type': 'application/json' };
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const response = await fetch(`${server.url}${path}`, init);
    return { status: response.status, body: await response.json() };
  }

  /** Creates, changes, reads and deletes documents, one after another. */
  async function work(client: number): Promise<void> {
    for (let at = 0; at < WRITES; at += 1) {
      const path = `load/doc-${client}-${at}`;
      const rev = await revOf(send(owner, 'PUT', path, { client, at }));
      const next = await revOf(send(owner, 'PUT', path, { _rev: rev, client, at, changed: true }));
      expect(await send(owner, 'GET', path)).toMatchObject({ status: 200, body: { _rev: next, at, changed: true } });
      const changes = await send(owner, 'POST', 'load/_changes?filter=_doc_ids', { doc_ids: [`doc-${client}-${at}`] });
      expect(changes).toMatchObject({ status: 200, body: { results: [{ changes: [{ rev: next }] }] } });
      if (at % 5 === 4) expect(await send(owner, 'DELETE', `${path}?rev=${next}`)).toMatchObject({ status: 200 });
    }
  }

  async function revOf(answer: Promise<unknown>): Promise<string> {
    const { status, body } = (await answer) as { readonly status: number; readonly body: { readonly rev: string } };
    expect(status).toBe(201);
    return body.rev;
  }

  test(
    'answer a mixed load without a failure, and keep their roles',
    async () => {
      await fillServer(owner);
      expect(await send(owner, 'PUT', 'load')).toMatchObject({ status: 201 });
      await Promise.all(Array.from({ length: CLIENTS }, (_, client) => work(client)));
      const deleted = CLIENTS * Math.floor(WRITES / 5);
      expect(await send(owner, 'GET', 'load')).toMatchObject({
        body: { doc_count: CLIENTS * WRITES - deleted, doc_del_count: deleted },
      });
      const found = await send(owner, 'POST', 'load/_find', { selector: { at: 0 }, limit: 100 });
      expect(found).toMatchObject({ status: 200, body: { docs: { length: CLIENTS } } });
      expect(await send(standby, 'GET', '_up')).toMatchObject({ status: 503, body: { role: 'standby' } });
      expect(await send(owner, 'GET', '_up')).toMatchObject({ status: 200, body: { role: 'owner' } });
      const pool = await openPool(near);
      const [row] = await pool.use((connection) =>
        connection.query(`SELECT term::int AS term FROM ${pool.address.schema}.format`),
      );
      await pool.close();
      // The storage has had one owner.
      expect(row).toEqual({ term: 1 });
      const content = await contentOf(owner);
      expect((content['counts'] as unknown[]).slice(0, 2)).toEqual([303, 1]);
      await owner.close();
      owner = standby;
      await expect.poll(() => send(owner, 'GET', '_up'), PATIENCE).toMatchObject({ status: 200 });
      expect(await contentOf(owner)).toEqual(content);
    },
    TIMEOUT_MS,
  );
});

if (isLongRun && proxy !== undefined) {
  const name = 'core whose PostgreSQL is 50 ms away';
  const newStorage = () => postgresStorage(proxy.url());
  registerSuites(name, 'all', () =>
    CoreHost.start({ name, newStorage, loadWasm: readQuickJsWasm, createWorkers: createSandboxWorkers }),
  );
}
