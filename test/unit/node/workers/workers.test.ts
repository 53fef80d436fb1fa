import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { patient } from '../../../support/patience.ts';
import { SetteeProcess } from '../settee-process.ts';

let temporary = '';
const started: SetteeProcess[] = [];

beforeAll(async () => {
  temporary = await realpath(await mkdtemp(join(tmpdir(), 'settee-workers-test-')));
});

afterAll(() => rm(temporary, { recursive: true }));

afterEach(async () => {
  for (const settee of started.splice(0)) await settee.stop();
});

function serve(folder: string, ...more: string[]): SetteeProcess {
  const server = new SetteeProcess(['serve', '--no-demo', '--port', '0', '--workers', '2', '--data', folder, ...more]);
  started.push(server);
  return server;
}

const newFolder = () => mkdtemp(join(temporary, 'data-'));

async function send(url: string, method: string, body?: string): Promise<number> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method, headers, body: body ?? null });
  await response.arrayBuffer();
  return response.status;
}

/** The processes that it has started: the owner first, then the readers. */
function childrenOf({ child: { pid } }: SetteeProcess): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function readerMetrics(url: string): Promise<Record<string, number>> {
  const text = await (await fetch(`${url}_node/_local/_prometheus`)).text();
  const lines = text.split('\n').filter((line) => /^svc_(?:role|reader)/.test(line));
  return Object.fromEntries(lines.map((line) => [line.split(' ')[0] ?? '', Number(line.split(' ')[1])]));
}

/** Starts a server that has a folder for temporary files of its own. */
async function serveIn(temporaryFolder: string): Promise<SetteeProcess> {
  const data = await newFolder();
  const { TMPDIR: before } = process.env;
  process.env['TMPDIR'] = temporaryFolder;
  const server = serve(data);
  if (before === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = before;
  return server;
}

/** Only Linux tells which processes a process has started. */
describe.runIf(process.platform === 'linux')('a server of several processes', () => {
  test('says so, and leaves nothing behind when it ends', async () => {
    const temporaryFolder = await mkdtemp(join(temporary, 'temporary-'));
    const server = await serveIn(temporaryFolder);
    const url = await server.url();
    expect(await readdir(temporaryFolder)).toEqual([expect.stringMatching(/^settee-workers-/)]);
    await expect
      .poll(() => server.stdout, patient)
      .toContain('\nIt runs as 2 processes that accept requests, and one that owns the databases\n');
    const children = childrenOf(server);
    expect(children).toHaveLength(3);
    const up = await fetch(`${url}_up`);
    expect([up.status, await up.json()]).toEqual([200, { status: 'ok', role: 'reader', lag_ms: 0 }]);
    server.child.kill('SIGTERM');
    expect(await server.exited).toEqual({ code: 0, signal: null });
    expect(children.filter(isAlive)).toEqual([]);
    expect(await readdir(temporaryFolder)).toEqual([]);
    expect(server.stderr.split('\n').map((line) => line.replace(/^\S+ /, ''))).toEqual([
      `[info] the server has started: Settee 0.1.0 at ${url}`,
      '[info] the server is stopping',
      '[info] the server has stopped',
      '',
    ]);
  });

  test('keeps acknowledged writes when its owner is killed, and goes on with another one', async () => {
    const server = serve(await newFolder());
    const url = await server.url();
    await send(`${url}db`, 'PUT');
    const outcomes = new Map<string, number>();
    let isOver = false;
    const writer = async (name: string) => {
      for (let count = 0; !isOver; count++) {
        const id = `${name}-${count}`;
        outcomes.set(id, await send(`${url}db/${id}`, 'PUT', '{}'));
      }
    };
    const writers = ['a', 'b', 'c', 'd'].map(writer);
    for (let kills = 0; kills < 2; kills++) {
      const at = outcomes.size;
      await expect.poll(() => outcomes.size, patient).toBeGreaterThan(at + 50);
      const children = childrenOf(server);
      // The readers stay.
      const owner = kills === 0 ? children[0] : children.at(-1);
      process.kill(owner ?? 0, 'SIGKILL');
      await server.says(new RegExp(`(?:another one is started[^]*){${kills + 1}}`));
    }
    const at = outcomes.size;
    await expect.poll(() => outcomes.size, patient).toBeGreaterThan(at + 50);
    isOver = true;
    await Promise.all(writers);
    expect([...new Set(outcomes.values())].filter((status) => status !== 201 && status !== 503)).toEqual([]);
    const response = await fetch(`${url}db/_all_docs`);
    const { rows } = (await response.json()) as { rows: { id: string }[] };
    const stored = new Set(rows.map(({ id }) => id));
    expect([...outcomes].filter(([id, status]) => status === 201 && !stored.has(id))).toEqual([]);
  });

  test('replaces readers, on the same port even if all of them have ended', async () => {
    const server = serve(await newFolder());
    const url = await server.url();
    const readers = childrenOf(server).slice(1);
    for (const pid of readers) process.kill(pid, 'SIGKILL');
    await expect.poll(() => childrenOf(server).filter((pid) => !readers.includes(pid)).length, patient).toBe(3);
    await expect.poll(() => send(`${url}_up`, 'GET').catch(() => 0), patient).toBe(200);
    await expect
      .poll(() => readerMetrics(url), patient)
      .toMatchObject({
        'svc_role{role="owner"}': 1,
        svc_readers: 2,
        svc_reader_owner_restarts_total: 0,
        svc_reader_forward_failures_total: 0,
      });
    // More if one of the next ones found the port still taken.
    const { svc_reader_restarts_total: restarts, ...others } = await readerMetrics(url);
    expect(restarts).toBeGreaterThanOrEqual(2);
    expect(await send(`${url}db`, 'PUT')).toBe(201);
    // That request, and those for the metrics. A reader that is not asked for them says within half a second what it has counted.
    const forwarded = async () => (await readerMetrics(url))['svc_reader_forwarded_requests_total'];
    await expect.poll(forwarded, patient).toBeGreaterThan((others['svc_reader_forwarded_requests_total'] ?? 0) + 1);
  });

  test('counts the requests that its readers have sent to the owner, whichever of them did', async () => {
    const server = serve(await newFolder());
    const url = await server.url();
    let sent = 0;
    const forward = async (path: string, method: string, body?: string) => {
      sent++;
      // Over a connection of its own, which any of the readers may accept.
      const headers = { 'content-type': 'application/json', connection: 'close' };
      const response = await fetch(`${url}${path}`, { method, headers, body: body ?? null });
      return response.text();
    };
    const counted = async () => {
      const before = sent;
      const text = await forward('_node/_local/_prometheus', 'GET');
      return Number(/^svc_reader_forwarded_requests_total (\d+)/m.exec(text)?.[1]) - before;
    };
    await forward('db', 'PUT');
    for (let n = 0; n < 10; n++) await forward(`db/d${n}`, 'PUT', '{}');
    // A reader says at once what it has counted when it is asked for metrics itself, and else within half a second.
    await expect.poll(counted, { ...patient, interval: 1_000 }).toBe(0);
  });

  test('whose supervisor is killed ends in order, and the next start is not kept from anything', async () => {
    const folder = await newFolder();
    const server = serve(folder);
    const url = await server.url();
    await send(`${url}db`, 'PUT');
    const children = childrenOf(server);
    await server.stop('SIGKILL');
    await expect.poll(() => children.filter(isAlive), patient).toEqual([]);
    const next = serve(folder);
    expect(await send(`${await next.url()}db`, 'GET')).toBe(200);
  });

  test('all of whose processes are killed starts again', async () => {
    const folder = await newFolder();
    const server = serve(folder);
    await send(`${await server.url()}db`, 'PUT');
    for (const pid of [server.child.pid ?? 0, ...childrenOf(server)]) process.kill(pid, 'SIGKILL');
    await server.exited;
    const next = serve(folder);
    expect(await send(`${await next.url()}db`, 'GET')).toBe(200);
  });

  test('ends the feeds of clients that go away, and those that are open when it stops', async () => {
    const server = serve(await newFolder());
    const url = await server.url();
    await send(`${url}db`, 'PUT');
    const feeds = async () => {
      const response = await fetch(`${url}_stats/httpd/clients_requesting_changes`);
      const { httpd } = (await response.json()) as {
        httpd: { clients_requesting_changes: { current: number | null } };
      };
      return httpd.clients_requesting_changes.current ?? 0;
    };
    const leaving = new AbortController();
    const feed = `${url}db/_changes?feed=continuous&heartbeat=20`;
    await fetch(feed, { signal: leaving.signal });
    await expect.poll(feeds, patient).toBe(1);
    leaving.abort();
    await expect.poll(feeds, patient).toBe(0);
    const open = await fetch(feed);
    const ended = open.text();
    await expect.poll(feeds, patient).toBe(1);
    server.child.kill('SIGTERM');
    expect(await ended).toContain('last_seq');
    expect(await server.exited).toEqual({ code: 0, signal: null });
  });

  test('takes and returns attachments of 50 MB', async () => {
    const server = serve(await newFolder());
    const url = await server.url();
    await send(`${url}db`, 'PUT');
    const bytes = Buffer.alloc(52_428_800, 'a piece of an attachment');
    const put = await fetch(`${url}db/large/file`, { method: 'PUT', body: bytes });
    expect([put.status, await put.json()]).toEqual([201, expect.objectContaining({ ok: true })]);
    const got = Buffer.from(await (await fetch(`${url}db/large/file`)).arrayBuffer());
    expect(got.equals(bytes)).toBe(true);
  });

  test('does not start on a folder that another one uses, and ends with its reason', async () => {
    const folder = await newFolder();
    const url = await serve(folder).url();
    const second = serve(folder);
    expect(await second.exited).toEqual({ code: 1, signal: null });
    expect(second.stderr).toContain(`is in use by process`);
    expect(second.stderr).toContain(`which answers at ${url.replace(/\/$/, '')}`);
    expect(second.stdout).toBe('');
  });

  test("ends with the reason if its owner can't start again", async () => {
    const folder = await newFolder();
    const server = serve(folder);
    await server.url();
    const children = childrenOf(server);
    await writeFile(join(folder, 'settee.ini'), '[log]\nlevel = loud\n');
    process.kill(children[0] ?? 0, 'SIGKILL');
    expect(await server.exited).toEqual({ code: 2, signal: null });
    expect(server.stderr).toContain('The process that owns the databases ended (SIGKILL); another one is started.');
    expect(server.stderr).toContain('log/level');
    expect(children.filter(isAlive)).toEqual([]);
  });

  test('does not start on a port that is taken', async () => {
    const url = await serve(await newFolder()).url();
    const { port } = new URL(url);
    const second = serve(await newFolder(), '--port', port);
    expect(await second.exited).toEqual({ code: 1, signal: null });
    expect(second.stderr).toContain(`Settee can't listen on 127.0.0.1:${port}: another program uses this port.`);
  });

  test('is ended at once by a second signal, with all processes', async () => {
    const server = serve(await newFolder());
    const url = await server.url();
    const children = childrenOf(server);
    await send(`${url}db`, 'PUT');
    // A reader waits for the rest of this one, and the owner for the reader.
    const headers = { 'content-type': 'application/json', 'content-length': 1_000, expect: '100-continue' };
    const upload = request(`${url}db/never`, { method: 'PUT', headers });
    upload.on('error', () => undefined);
    upload.flushHeaders();
    await once(upload, 'continue');
    server.child.kill('SIGTERM');
    await server.says(/the server is stopping/);
    await new Promise((resolve) => setTimeout(resolve, 600));
    server.child.kill('SIGTERM');
    expect(await server.exited).toEqual({ code: 1, signal: null });
    await expect.poll(() => children.filter(isAlive), patient).toEqual([]);
  });
});

test('pipes of processes are closed with them', async () => {
  // A start that fails must not leave its children with the output of the command open.
  const failing = serve(await newFolder(), '--host', '0.0.0.0');
  const [code] = await once(failing.child, 'close');
  expect(code).toBe(2);
  expect(failing.stderr).toContain('Settee does not listen on 0.0.0.0: it has no admin');
});
