/** Requests through the proxies whose files are in docs/operations. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../src/node/server/server.ts';
import {
  ask,
  certify,
  HOST,
  isInstalled,
  open,
  PROXIES,
  type RunningProxy,
  startProxy,
} from '../../support/proxies.ts';

const hasOpenssl = await isInstalled('openssl');
const proxies = await Promise.all(PROXIES.map(async (one) => ({ ...one, isHere: await isInstalled(one.tool) })));

test('all proxies are installed where .ci/run could install them', () => {
  const missing = proxies.filter(({ isHere }) => !isHere).map(({ tool }) => tool);
  if (process.env['SETTEE_PROXIES'] !== undefined) expect(missing).toEqual([]);
  if (missing.length > 0) console.info(`Not installed: ${missing.join(', ')}. The tests of their files are skipped.`);
});

describe.each(proxies)('$file of $tool', ({ file, isHere }) => {
  const isPossible = isHere && hasOpenssl;
  const folder = mkdtempSync(join(tmpdir(), 'settee-proxies-'));
  const lines: string[] = [];
  let server: RunningServer;
  let proxy: RunningProxy;

  beforeAll(async () => {
    if (!isPossible) return;
    await certify(folder);
    server = await startServer({
      ...{ port: 0, memory: true, allowedHosts: [HOST], onLog: (line) => lines.push(line) },
      config: { httpd: { trusted_proxies: '127.0.0.1,::1' }, log: { requests: 'json' } },
    });
    proxy = await startProxy(file, folder, new URL(server.url).host);
    // HAProxy first asks whether the server is there.
    while ((await ask(proxy.port, '/_up')).status !== 200) await new Promise((resolve) => setTimeout(resolve, 20));
    await ask(proxy.port, '/db', { method: 'PUT' });
  });

  afterAll(async () => {
    await proxy?.stop();
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test.skipIf(!isPossible)('addresses arrive as they are, and responses name https', async () => {
    const put = await ask(proxy.port, '/db/a%2Fb', { method: 'PUT', body: '{"n":1}' });
    expect(put.status).toBe(201);
    expect(put.headers.location).toMatch(new RegExp(`^https://${HOST.replaceAll('.', '\\.')}(:\\d+)?/db/a%2Fb$`));
    expect(JSON.parse((await ask(proxy.port, '/db/a%2Fb')).body)).toMatchObject({ _id: 'a/b', n: 1 });
  });

  test.skipIf(!isPossible)('a change reaches a feed while it is open', async () => {
    const feed = await open(proxy.port, '/db/_changes?feed=continuous&since=now&heartbeat=1000');
    expect(feed.statusCode).toBe(200);
    const written = ask(proxy.port, '/db/fed', { method: 'PUT', body: '{}' });
    let seen = '';
    while (!seen.includes('"id":"fed"')) seen += String((await once(feed, 'data'))[0]);
    expect(feed.complete).toBe(false);
    feed.destroy();
    expect((await written).status).toBe(201);
  });

  test.skipIf(!isPossible)('large uploads and long addresses pass', async () => {
    const body = Buffer.alloc(8 * 1024 * 1024, 'x');
    const headers = { 'content-type': 'text/plain', expect: '100-continue' };
    expect((await ask(proxy.port, '/db/large/file.txt', { method: 'PUT', body, headers })).status).toBe(201);
    expect((await ask(proxy.port, '/db/large/file.txt')).body.length).toBe(body.length);
    const keys = JSON.stringify(Array.from({ length: 300 }, (_, n) => `k${n}`));
    expect((await ask(proxy.port, `/db/_all_docs?keys=${encodeURIComponent(keys)}`)).status).toBe(200);
  });

  test.skipIf(!isPossible)('a request for another protocol is answered', async () => {
    const headers = { connection: 'Upgrade', upgrade: 'other/1' };
    const { status, body } = await ask(proxy.port, '/db/_all_docs?limit=0', { headers });
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({ rows: [] });
  });

  test.skipIf(!isPossible)('the log has the address that the proxy saw, and the trace of the client', async () => {
    const headers = {
      'x-forwarded-for': '203.0.113.7',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    };
    const { headers: answered } = await ask(proxy.port, '/db/_all_docs?limit=1', { headers });
    expect(answered['traceresponse']).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-/);
    const entryOf = () => lines.find((line) => line.includes('0af7651916cd43dd8448eb211c80319c'));
    while (entryOf() === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(JSON.parse(entryOf() ?? '')).toMatchObject({ path: '/db/_all_docs', peer: '127.0.0.1', status: 200 });
  });
});
