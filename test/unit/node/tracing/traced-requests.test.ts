/** The trace of a request on its way through servers, and the access log. */
import { createServer, get, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../../src/node/server/server.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const traceparent = `00-${TRACE}-${PARENT}-01`;

const cleanups: (() => unknown)[] = [];
let lines: string[] = [];

afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
  lines = [];
});

async function start(
  log: Record<string, string> = {},
  onLog = (line: string) => void lines.push(line),
): Promise<RunningServer> {
  const server = await startServer({ port: 0, memory: true, config: { log }, onLog });
  cleanups.push(() => server.close());
  return server;
}

/** Sends a request that the server takes for another process's: it knows the connections of `fetch` here. */
function getFromElsewhere(url: string, headers: Record<string, string>): Promise<IncomingHttpHeaders> {
  return new Promise((resolve, reject) => {
    get(url, { headers }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.headers));
    }).once('error', reject);
  });
}

/** The requests in the log, when there are that many: they are written when their responses have been sent. */
async function requestsIn(count: number): Promise<Record<string, unknown>[]> {
  for (;;) {
    const found = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
    const requests = found.filter(({ event }) => event === 'request');
    if (requests.length >= count) return requests;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test('the response names the trace and the part of the server in it, and the log has its id', async () => {
  const { url } = await start({ requests: 'true' });
  const headers = await getFromElsewhere(`${url}_up`, { traceparent });
  const [, traceId, spanId] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/.exec(String(headers['traceresponse'])) ?? [];
  expect(traceId).toBe(TRACE);
  expect(spanId).not.toBe(PARENT);
  expect(lines.at(-1)).toMatch(
    / \[info\] 127\.0\.0\.1 - GET \/_up 200 [\d.]+ ms trace 0af7651916cd43dd8448eb211c80319c$/,
  );
});

test.each([{}, { traceparent: `00-${TRACE}-${PARENT}-0x` }])(
  'a request without a valid trace gets none: %j',
  async (headers) => {
    const { url } = await start({ requests: 'true' });
    const response = await fetch(`${url}_up`, { headers });
    expect(response.status).toBe(200);
    expect(response.headers.has('traceresponse')).toBe(false);
    expect(lines.at(-1)).toMatch(/ GET \/_up 200 [\d.]+ ms$/);
  },
);

test('a trace belongs to refused requests, too', async () => {
  const { url } = await start();
  const response = await fetch(`${url}missing/doc`, { headers: { traceparent } });
  expect(response.status).toBe(404);
  expect(response.headers.get('traceresponse')).toMatch(new RegExp(`^00-${TRACE}-`));
});

describe('a replication', () => {
  async function startPeer(): Promise<{ url: string; seen: IncomingHttpHeaders[] }> {
    const seen: IncomingHttpHeaders[] = [];
    const target = await start({ level: 'none' });
    await target.handle({ method: 'PUT', url: '/target', headers: {}, body: null });
    // Notes the headers, and has the target answer.
    const peer = createServer((incoming, outgoing) => {
      seen.push(incoming.headers);
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', async () => {
        const { method = 'GET' } = incoming;
        const { 'content-type': type = 'application/json', accept = '*/*' } = incoming.headers;
        const body = chunks.length === 0 ? null : Buffer.concat(chunks);
        const answered = await fetch(new URL(incoming.url ?? '/', target.url), {
          method,
          headers: { 'content-type': type, accept },
          body,
        });
        outgoing.writeHead(answered.status, { 'content-type': answered.headers.get('content-type') ?? 'text/plain' });
        outgoing.end(Buffer.from(await answered.arrayBuffer()));
      });
    });
    await new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve));
    cleanups.push(() => {
      peer.closeAllConnections();
      peer.close();
    });
    const { port } = peer.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}/target`, seen };
  }

  async function replicate(headers: Record<string, string>, more: object = {}) {
    const peer = await startPeer();
    const { url } = await start();
    await fetch(`${url}source`, { method: 'PUT' });
    await fetch(`${url}source/doc`, { method: 'PUT', body: '{}' });
    const response = await fetch(`${url}_replicate`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ source: 'source', target: peer.url, ...more }),
    });
    return { response, seen: peer.seen, result: await response.json() };
  }

  test('carries on the trace of the request that started it, with the part of the server as its parent', async () => {
    const { response, seen, result } = await replicate({ traceparent, tracestate: 'vendor=1' });
    expect(result).toMatchObject({ ok: true, docs_written: 1 });
    const own = response.headers.get('traceresponse');
    expect(own).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
    expect(new Set(seen.map((headers) => headers['traceparent']))).toEqual(new Set([own]));
    expect(new Set(seen.map(({ tracestate }) => tracestate))).toEqual(new Set(['vendor=1']));
  });

  test('has no trace if the request has none', async () => {
    const { seen, result } = await replicate({ tracestate: 'vendor=1' });
    expect(result).toMatchObject({ ok: true, docs_written: 1 });
    expect(seen.filter((headers) => 'traceparent' in headers || 'tracestate' in headers)).toEqual([]);
  });
});

describe('requests as lines of JSON', () => {
  test('say what was asked, by whom, and how it was answered', async () => {
    const { url } = await start({ requests: 'json' });
    await fetch(`${url}a%2Fb`, { method: 'PUT', headers: { traceparent } });
    await getFromElsewhere(`${url}_all_dbs?limit=7`, {});
    const [put, list] = await requestsIn(2);
    expect(put).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      level: 'info',
      event: 'request',
      method: 'PUT',
      path: '/a%2Fb',
      status: 201,
      bytes: expect.any(Number),
      duration_ms: expect.any(Number),
      user: null,
      peer: null,
      database: 'a/b',
      id: expect.stringMatching(/^[0-9a-f]{16}$/),
      trace_id: TRACE,
    });
    expect(Number(put?.['bytes'])).toBeGreaterThan(100);
    expect(list).toMatchObject({ path: '/_all_dbs', database: null, peer: '127.0.0.1', trace_id: null });
    // Other entries stay text, and there is no second entry of a request.
    expect(lines.filter((line) => line.includes('/_all_dbs'))).toHaveLength(1);
    expect(lines[0]).toMatch(/^\S+ \[info\] the server has started/);
  });

  test('name the user, and mark responses that broke off', async () => {
    const { url } = await start({ requests: 'json' });
    await fetch(`${url}db`, { method: 'PUT' });
    const feed = new AbortController();
    const reading = await fetch(`${url}db/_changes?feed=continuous`, { signal: feed.signal });
    expect(reading.status).toBe(200);
    feed.abort();
    await fetch(`${url}_node/_local/_config/admins/ana`, { method: 'PUT', body: '"secret"' });
    const authorization = `Basic ${Buffer.from('ana:secret').toString('base64')}`;
    await (await fetch(`${url}db`, { headers: { authorization } })).text();
    const requests = await requestsIn(4);
    expect(requests.find(({ path }) => path === '/db/_changes')).toMatchObject({ aborted: true, status: 200 });
    expect(requests.find(({ path, method }) => path === '/db' && method === 'GET')).toMatchObject({ user: 'ana' });
    expect(lines.join('\n')).not.toContain('secret');
  });

  test('escape what clients send: no line imitates another', async () => {
    const { url } = await start({ requests: 'json' });
    await fetch(`${url}db%0A%7B%22event%22%3A%22request%22%7D/\u0085`);
    const [request] = await requestsIn(1);
    expect(request).toMatchObject({ database: 'db\n{"event":"request"}', status: 404 });
    expect(lines.at(-1)).toContain('db\\n{');
  });

  test('follow the settings while the server runs, and the level', async () => {
    const { url } = await start();
    const set = (key: string, value: string) =>
      fetch(`${url}_node/_local/_config/log/${key}`, { method: 'PUT', body: JSON.stringify(value) });
    await fetch(`${url}_up/before`);
    await set('requests', 'json');
    await fetch(`${url}_up/while`);
    const requests = await requestsIn(1);
    await set('level', 'warning');
    await fetch(`${url}_up/after`);
    await set('level', 'info');
    await fetch(`${url}_up`);
    const paths = [...requests, ...(await requestsIn(3))].map(({ path }) => path);
    expect(paths).toContain('/_up/while');
    expect(lines.join('\n')).not.toMatch(/before|after/);
  });
});

test('the whole log as lines of JSON', async () => {
  const { url } = await start({ format: 'json', level: 'request' });
  await fetch(`${url}_log`, { method: 'POST', body: JSON.stringify({ level: 'info', message: 'one\ntwo' }) });
  expect(await requestsIn(1)).toMatchObject([{ path: '/_log', status: 200 }]);
  const entries = lines.map((line) => JSON.parse(line));
  expect(entries.every(({ time, level }) => typeof time === 'string' && typeof level === 'string')).toBe(true);
  expect(entries[0].message).toMatch(/^the server has started: Settee /);
  expect(entries.find(({ message }) => message?.includes('wrote'))).toMatchObject({
    level: 'info',
    message: 'somebody from an unknown address wrote: one\\ntwo',
  });
});
