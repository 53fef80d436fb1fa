import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type HttpServer, listen } from '../../../../src/node/http/http-server.ts';
import { type DemoOptions, startDemo } from '../../../../src/node/server/demo.ts';
import { patient } from '../../../support/patience.ts';
import { SetteeProcess } from '../settee-process.ts';

let parent = '';
let folder = '';
const running: { close(): Promise<unknown> }[] = [];

beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'settee-demo-'));
  folder = join(parent, 'demo');
  await mkdir(join(folder, 'assets'), { recursive: true });
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>Demo</title>');
  await writeFile(join(folder, 'assets', 'index-abc.js'), 'let ä;');
  await writeFile(join(parent, 'secret.txt'), 'secret');
});

afterEach(async () => {
  for (const each of running.splice(0)) await each.close();
});

afterAll(() => rm(parent, { recursive: true }));

async function start(options: Partial<DemoOptions> = {}): Promise<HttpServer> {
  const demo = await startDemo({ port: 0, folder, ...options });
  if (demo === undefined || typeof demo === 'string') throw new Error(`no demo: ${demo}`);
  running.push(demo);
  return demo;
}

/** With the path as it is written, which `fetch` would normalise. */
function statusOf(url: string, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { path }, (incoming) => {
      incoming.resume();
      resolve(incoming.statusCode);
    });
    outgoing.on('error', reject).end();
  });
}

describe('the demo', () => {
  test('is served from a folder, with its page at the root', async () => {
    const { url } = await start();
    const page = await fetch(url);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('cache-control')).toBe('no-cache');
    expect(page.headers.get('content-security-policy')).toContain("default-src 'self'");
    expect(await page.text()).toBe('<!doctype html><title>Demo</title>');
    const script = await fetch(`${url}assets/index-abc.js?x`);
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(script.headers.get('content-length')).toBe('7');
    expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(await script.text()).toBe('let ä;');
  });

  test('answers HEAD, and no other method', async () => {
    const { url } = await start();
    const head = await fetch(`${url}assets/index-abc.js`, { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(head.headers.get('content-length')).toBe('7');
    expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(405);
  });

  test('answers requests for the database with the right address', async () => {
    const { url } = await start();
    const missed = await fetch(`${url}db/countries`);
    expect(missed.status).toBe(421);
    expect(await missed.json()).toMatchObject({ error: 'misdirected_request' });
    expect((await fetch(`${url}dbx`)).status).toBe(404);
    // Somebody who opens such an address reads what to do.
    const [status, type, page] = await new Promise<readonly unknown[]>((resolve, reject) => {
      // Not with `fetch`, which says itself what it is.
      const outgoing = request(`${url}db/_utils/`, { headers: { 'sec-fetch-mode': 'navigate' } }, async (incoming) => {
        resolve([incoming.statusCode, incoming.headers['content-type'], (await incoming.toArray()).join('')]);
      });
      outgoing.on('error', reject).end();
    });
    expect([status, type]).toEqual([421, 'text/html; charset=utf-8']);
    expect(page).toContain('<a href="/">Open the demo</a> first');
  });

  test.each([
    '/../secret.txt',
    '/assets/../../secret.txt',
    '/%2e%2e/secret.txt',
    '/..%2fsecret.txt',
    '/%00',
    '/%',
    '/assets',
  ])('serves no file outside of its folder: %s', async (path) => {
    expect(await statusOf((await start()).url, path)).toBe(404);
  });

  test('refuses host names that others could have pointed at it', async () => {
    const { url } = await start({ allowedHosts: ['demo.example'] });
    const status = (host: string) =>
      new Promise((resolve, reject) => {
        const outgoing = request(url, { headers: { host } }, (incoming) => resolve(incoming.resume().statusCode));
        outgoing.on('error', reject).end();
      });
    expect(await status('evil.example')).toBe(403);
    expect(await status('demo.example')).toBe(200);
  });

  test('forwards requests for the shared databases only', async () => {
    const asked: string[] = [];
    const server = await listen(
      async (incoming, outgoing) => {
        const { method, url, headers } = incoming;
        asked.push(`${method} ${url} ${headers['origin'] ?? 'no origin'}`);
        outgoing.writeHead(201, { 'x-answer': 'here' }).end('written');
      },
      '127.0.0.1',
      0,
    );
    running.push(server);
    const { url } = await start({ server: server.url });
    const origin = url.slice(0, -1);
    const ask = (path: string, headers: Record<string, string>) =>
      fetch(`${url}${path}`, { method: 'POST', body: '{}', headers });
    const own = await ask('server/settee-demo/_bulk_docs?x=%2F', { origin, 'sec-fetch-site': 'same-origin' });
    expect([own.status, own.headers.get('x-answer'), await own.text()]).toEqual([201, 'here', 'written']);
    expect(asked).toEqual(['POST /settee-demo/_bulk_docs?x=%2F no origin']);
    // Where the server itself is.
    expect(own.headers.get('x-settee-server')).toBe(server.url);
    expect((await ask('server/settee-notes', {})).status).toBe(201);
    expect(asked.splice(1)).toEqual(['POST /settee-notes no origin']);
    const refused = [
      ask('server/settee-demo', { origin: 'https://evil.example' }),
      ask('server/settee-demo', { origin: 'null' }),
      ask('server/settee-demo', { 'sec-fetch-site': 'cross-site' }),
      ask('server/settee-demo', { 'sec-fetch-site': 'same-site' }),
    ];
    expect((await Promise.all(refused)).map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    const others = ['other', 'settee-demo2', '_all_dbs', '_up', '_utils/'].map((path) => ask(`server/${path}`, {}));
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual([405, 405, 405, 405, 405]);
    expect(asked).toHaveLength(1);
    expect((await fetch(`${url}server/_up`)).status).toBe(201);
    expect((await fetch(`${url}server/_up/x`)).status).toBe(404);
    expect(asked).toEqual(['POST /settee-demo/_bulk_docs?x=%2F no origin', 'GET /_up no origin']);
    await server.close();
    const away = await ask('server/settee-demo', {});
    expect([away.status, away.headers.get('x-settee-server')]).toEqual([502, server.url]);
    expect((await fetch(`${(await start()).url}server/settee-demo`)).status).toBe(404);
  });

  test.each([
    ['http://127.0.0.1:5984/', 'http://127.0.0.1:5984/_utils/'],
    ['https://[::1]:6984/', 'https://[::1]:6984/_utils/'],
    ['http://0.0.0.0:5984/', 'http://localhost:5984/_utils/'],
  ])('redirects to the administration page of the server at %s', async (server, location) => {
    const { url } = await start({ server });
    for (const path of ['server/_utils', 'server/_utils/']) {
      const answer = await fetch(`${url}${path}`, { redirect: 'manual' });
      expect([answer.status, answer.headers.get('location')]).toEqual([307, location]);
    }
    expect((await fetch(`${(await start()).url}server/_utils/`)).status).toBe(404);
  });

  test('is left out if it was not built', async () => {
    expect(await startDemo({ port: 0, folder: parent })).toBeUndefined();
  });

  test('is left out, with the remedy, if its port is in use', async () => {
    const other = await listen(() => Promise.resolve(), '127.0.0.1', 0);
    running.push(other);
    const { port } = new URL(other.url);
    expect(await startDemo({ port: Number(port), folder })).toBe(
      `There is no demo: port ${port} can't be used, because another program uses it, or this user may not use it. Choose another one with --demo-port, or none with --no-demo.`,
    );
  });
});

describe('npm start', () => {
  test('prints the addresses of the server, its administration page and the demo, and stops both', async () => {
    const settee = new SetteeProcess(['--port', '0', '--memory']);
    running.push({ close: () => settee.stop('SIGKILL') });
    await settee.startUpLine();
    await expect
      .poll(() => settee.stdout, patient)
      .toMatch(
        /^Settee .*\nIts administration page is at http:\/\/127\.0\.0\.1:\d+\/_utils\/\nThe demo is at http:\/\/127\.0\.0\.1:\d+\/\nIt has no admin: anyone who can reach it may do everything\. Set one and restart the server: (npx )?settee serve --memory --set admins\/NAME=PASSWORD\n$/,
      );
    const url = String(/demo is at (\S+)/.exec(settee.stdout)?.[1]);
    expect(await (await fetch(url)).text()).toContain('<title>Settee demo</title>');
    settee.child.kill('SIGINT');
    expect(await settee.exited).toEqual({ code: 0, signal: null });
    await expect(fetch(url)).rejects.toThrow();
  });

  test('serves no demo with --no-demo', async () => {
    const settee = new SetteeProcess(['--port', '0', '--memory', '--no-demo']);
    running.push({ close: () => settee.stop('SIGKILL') });
    await settee.startUpLine();
    settee.child.kill('SIGINT');
    expect(await settee.exited).toEqual({ code: 0, signal: null });
    expect(settee.stdout).not.toContain('demo');
  });
});
