import { spawnSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startDemo } from '../../../../src/node/server/demo.ts';
import { type RunningServer, type ServerOptions, startServer } from '../../../../src/node/server/server.ts';

let folder = '';
const file = (name: string) => join(folder, name);

/** Node makes no certificates; OpenSSL's command does, and nearly every machine has it. */
const hasOpenSsl = spawnSync('openssl', ['version']).status === 0;

function makeCertificate(name: string, names = 'DNS:localhost,IP:127.0.0.1'): void {
  const { status, stderr } = spawnSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
      ...['-subj', '/CN=Settee', '-addext', `subjectAltName=${names}`],
      ...['-keyout', file(`${name}.key`), '-out', file(`${name}.pem`)],
    ],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(stderr);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-tls-'));
  if (!hasOpenSsl) return;
  makeCertificate('one');
  makeCertificate('two');
});

afterAll(() => rm(folder, { recursive: true }));

function start(options: ServerOptions): Promise<RunningServer> {
  return startServer({ port: 0, memory: true, onLog: () => {}, ...options });
}

async function ask(url: string, method = 'GET', path = '', more: RequestOptions = {}): Promise<IncomingMessage> {
  const outgoing = request(`${url}${path}`, { method, ca: await readFile(file('one.pem')), agent: false, ...more });
  outgoing.end();
  const [answer] = await once(outgoing, 'response');
  answer.resume();
  return answer;
}

describe.skipIf(!hasOpenSsl)('a server with a certificate', () => {
  test('answers https, and uses it in Location', async () => {
    const server = await start({ tlsCert: file('one.pem'), tlsKey: file('one.key') });
    expect(server.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+\/$/);
    expect((await ask(server.url)).statusCode).toBe(200);
    const created = await ask(server.url, 'PUT', 'db');
    expect(created.statusCode).toBe(201);
    expect(created.headers.location).toBe(`${server.url}db`);
    await server.close();
  });

  test('is reached by the demo, whatever name its certificate has', async () => {
    makeCertificate('elsewhere', 'DNS:db.example');
    const server = await start({ tlsCert: file('elsewhere.pem'), tlsKey: file('elsewhere.key') });
    const pages = file('pages');
    await mkdir(pages);
    await writeFile(join(pages, 'index.html'), '');
    const demo = await startDemo({ port: 0, folder: pages, server: server.url });
    if (demo === undefined || typeof demo === 'string') throw new Error(`no demo: ${demo}`);
    const answer = await fetch(`${demo.url}server/settee-demo`, { method: 'PUT' });
    expect([answer.status, await answer.json()]).toEqual([201, { ok: true }]);
    await demo.close();
    await server.close();
  });

  test('answers no http, and stops even if a connection never sent anything', async () => {
    const server = await start({ tlsCert: file('one.pem'), tlsKey: file('one.key') });
    const { port } = new URL(server.url);
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
    const silent = connect(Number(port), '127.0.0.1');
    await once(silent, 'connect');
    silent.on('error', () => {});
    const closed = once(silent, 'close');
    await server.close();
    await closed;
  });

  test('loads a renewed certificate, and keeps the old one until both files are there', async () => {
    const pair = { tlsCert: file('served.pem'), tlsKey: file('served.key') };
    const put = async (name: string, kind: 'pem' | 'key') => {
      await copyFile(file(`${name}.${kind}`), file('next'));
      await rename(file('next'), file(`served.${kind}`));
    };
    await put('one', 'pem');
    await put('one', 'key');
    const log = new EventEmitter();
    const onLog = (entry: string) => {
      if (entry.includes('ertificate')) log.emit('entry', entry);
    };
    const server = await start({ ...pair, tlsCheckMs: 20, onLog });
    const kept = new Agent({ keepAlive: true, maxSockets: 1 });
    expect((await ask(server.url, 'GET', '', { agent: kept })).statusCode).toBe(200);
    const refused = once(log, 'entry');
    await put('two', 'pem');
    expect(String(await refused)).toContain('the server continues with the old ones');
    expect((await ask(server.url)).statusCode).toBe(200);
    const renewed = once(log, 'entry');
    await put('two', 'key');
    expect(String(await renewed)).toContain('was read again');
    await expect(ask(server.url)).rejects.toThrow();
    expect((await ask(server.url, 'GET', '', { ca: await readFile(file('two.pem')) })).statusCode).toBe(200);
    // The connection that was there goes on.
    expect((await ask(server.url, 'GET', '', { agent: kept })).statusCode).toBe(200);
    kept.destroy();
    await server.close();
  });

  test("does not start with half of a pair, with another's key, or without a certificate in the file", async () => {
    await writeFile(file('text.pem'), 'no certificate');
    const both = { tlsCert: file('one.pem'), tlsKey: file('one.key') };
    for (const [options, reason] of [
      [{ tlsCert: both.tlsCert }, 'https needs both a certificate and its key'],
      [{ tlsKey: both.tlsKey }, 'https needs both a certificate and its key'],
      [{ ...both, tlsKey: file('two.key') }, 'and belong to each other'],
      [{ ...both, tlsCert: file('text.pem') }, 'Both must be PEM'],
      [{ ...both, tlsCert: file('absent.pem') }, `${file('absent.pem')} can't be read`],
    ] as const) {
      await expect(start(options)).rejects.toMatchObject({
        code: 'bad_request',
        reason: expect.stringContaining(reason),
      });
    }
  });
});
