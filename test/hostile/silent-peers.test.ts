import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterEach, assert, beforeEach, describe, test } from 'vitest';
import { basic } from '../support/conformance/accounts.ts';
import { AttackedServer } from './support/attacked-server.ts';
import { noProcessFiles } from './support/process-use.ts';

/** A source that lists many changes, and never answers who asks for a document: replications from it keep all connections that they get. */
const timeout = 120_000;
const DESCRIPTORS = 400;
const JOBS = 40;
const CHANGES = 2_000;
const ROOT = basic('root', 'rootpw');

let server: AttackedServer;
let source: Server;
let silent: number;

function changesFrom(parameters: URLSearchParams) {
  const since = Number(parameters.get('since'));
  const count = Math.min(Number(parameters.get('limit')), CHANGES - since);
  const changes = [{ rev: `1-${'a'.repeat(32)}` }];
  const results = Array.from({ length: count }, (_, at) => ({ seq: since + at + 1, id: `${since + at}`, changes }));
  return { results, last_seq: since + count };
}

beforeEach(async () => {
  silent = 0;
  source = createServer((request, response) => {
    request.resume();
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://peer');
    const json = (value: unknown, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (/^\/\w+$/.test(pathname)) return json({ db_name: 'db', update_seq: CHANGES });
    if (pathname.includes('_local')) return json({ error: 'not_found', reason: 'missing' }, 404);
    if (pathname.endsWith('_bulk_get')) return json({ error: 'not_found', reason: 'missing' }, 404);
    if (pathname.endsWith('_changes')) return json(changesFrom(searchParams));
    silent++;
    return undefined;
  });
  source.listen(0, '127.0.0.1');
  await once(source, 'listening');
});

afterEach(async () => {
  source.closeAllConnections();
  source.close();
  await server.remove();
});

describe.skipIf(noProcessFiles !== undefined)('with 400 descriptors', () => {
  test('replications that are never answered leave connections for other requests', { timeout }, async () => {
    const address = source.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const settings = ['admins/root=rootpw', 'replicator/allowed_hosts=127.0.0.1'];
    server = await AttackedServer.start({ descriptors: DESCRIPTORS, settings });
    const { client } = server;
    for (const name of ['pub', 'a', 'b']) await client.must(201, 'PUT', `/${name}`, { headers: ROOT });
    await client.must(201, 'PUT', '/a/doc', { headers: ROOT, json: {} });
    const greedy = { worker_processes: 64, worker_batch_size: 25, http_connections: 256, connection_timeout: 600_000 };
    const asked = Array.from({ length: JOBS }, (_, n) => {
      const json = { source: `http://127.0.0.1:${port}/db${n}`, target: 'pub', ...greedy };
      return client.ask('POST', '/_replicate', { json }).catch(() => undefined);
    });
    const until = Date.now() + 4_000;
    while (Date.now() < until) {
      await client.must(200, 'GET', '/a/doc');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    assert.isAbove(silent, 0);
    assert.isAtMost(silent, DESCRIPTORS / 4);
    const json = { source: 'a', target: `${server.url.origin}/b` };
    await client.must(200, 'POST', '/_replicate', { headers: ROOT, json });
    process.stdout.write(`${JOBS} silent sources: ${silent} connections\n`);
    source.closeAllConnections();
    await server.remove();
    await Promise.all(asked);
  });
});
