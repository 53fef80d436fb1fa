/** `@cloudant/couchbackup`, the usual backup tool of this interface family. */
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import couchbackup, { type BackupOptions } from '@cloudant/couchbackup';
import nano from 'nano';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { NodeHost } from '../../support/conformance/node-host.ts';
import { countryDocuments } from './countries.ts';

let host: NodeHost;
let folder: string;
let admin: nano.ServerScope;
/** With name and password. */
let url: string;

beforeAll(async () => {
  host = await NodeHost.start({ admins: { root: 'secret' }, svc_httpd_auth: { require_valid_user: 'true' } });
  url = host.baseUrl.replace('http://', 'http://root:secret@');
  admin = nano(url);
});
afterAll(() => host.close());

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-couchbackup-'));
  for (const name of ['source', 'target']) await admin.db.create(name);
  await admin.use('source').bulk({ docs: countryDocuments() });
  await admin.use('source').insert({
    _id: '_design/by',
    views: { region: { map: 'function (d) { emit(d.region) }' } },
  } as nano.ViewDocument<unknown>);
  const { _rev: rev } = await admin.use('source').get('ABW');
  await admin.use('source').destroy('ABW', rev);
});
afterEach(async () => {
  for (const name of ['source', 'target']) await admin.db.destroy(name);
  await rm(folder, { recursive: true });
});

interface Backup extends BackupOptions {
  readonly from?: string;
  /** Added to the file instead of replacing it. */
  readonly adds?: boolean;
}

/** Returns how many documents were written. */
async function backUp(file: string, { from = url, adds = false, ...options }: Backup = {}): Promise<number> {
  const target = createWriteStream(file, { flags: adds ? 'a' : 'w' });
  const done = promisify<{ readonly total: number }>((callback) =>
    couchbackup.backup(`${from}/source`, target, { bufferSize: 20, ...options }, (error, result) =>
      callback(error, result ?? { total: 0 }),
    ),
  );
  try {
    return (await done()).total;
  } finally {
    target.end();
    if (!target.closed) await once(target, 'close');
  }
}

async function restore(file: string): Promise<number> {
  const done = promisify<{ readonly total: number }>((callback) =>
    // As text: couchbackup cuts characters where chunks of bytes end.
    couchbackup.restore(createReadStream(file, 'utf8'), `${url}/target`, { bufferSize: 50 }, (error, result) =>
      callback(error, result ?? { total: 0 }),
    ),
  );
  return (await done()).total;
}

/** All documents with their revisions, by id. */
async function contentOf(name: string): Promise<unknown> {
  const { rows } = await admin.use(name).list({ include_docs: true });
  return rows.map(({ doc }) => doc);
}

test('backs up and restores all documents, with their revisions and deletions', async () => {
  const file = join(folder, 'all.backup');
  expect(await backUp(file)).toBe(251);
  expect(await restore(file)).toBe(251);
  expect(await contentOf('target')).toEqual(await contentOf('source'));
  expect(await admin.db.get('target')).toMatchObject({ doc_count: 250, doc_del_count: 1 });
  // A second restore changes nothing.
  expect(await restore(file).catch(({ name }: Error) => name)).toBe('DatabaseNotEmpty');
});

test('backs up what _all_docs lists, without revisions', async () => {
  const file = join(folder, 'shallow.backup');
  expect(await backUp(file, { mode: 'shallow' })).toBe(250);
  expect(await restore(file)).toBe(250);
  expect(await admin.db.get('target')).toMatchObject({ doc_count: 250, doc_del_count: 0 });
});

test('resumes a backup whose connection was cut', async () => {
  const file = join(folder, 'cut.backup');
  const log = join(folder, 'cut.log');
  const proxy = await CuttingProxy.start(host.baseUrl, 3);
  try {
    const cut = backUp(file, { from: proxy.url, log, parallelism: 1 });
    await expect(cut).rejects.toThrow();
    proxy.cuts = false;
    // Batches that are in the file count as done.
    expect(await readFile(log, 'utf8')).toMatch(/^:d batch\d+$/m);
    const rest = await backUp(file, { from: proxy.url, log, resume: true, adds: true });
    expect(rest).toBeGreaterThan(0);
    expect(rest).toBeLessThan(251);
  } finally {
    await proxy.close();
  }
  await restore(file);
  expect(await contentOf('target')).toEqual(await contentOf('source'));
});

/** Passes requests on; after some of `_bulk_get` it cuts the connection of each in the middle of the response. */
class CuttingProxy {
  cuts = true;
  readonly #server: Server;
  readonly #port: number;

  private constructor(server: Server) {
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
  }

  static async start(target: string, whole: number): Promise<CuttingProxy> {
    const { hostname, port } = new URL(target);
    let asked = 0;
    const server = createServer((incoming, outgoing) => {
      const { method, url: path = '', headers } = incoming;
      const isCut = proxy.cuts && method === 'POST' && path.includes('_bulk_get') && ++asked > whole;
      const passed = request({ hostname, port, method, path, headers: { ...headers, host: `${hostname}:${port}` } });
      passed.on('response', (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        if (!isCut) answer.pipe(outgoing);
        else answer.once('data', (chunk: Buffer) => outgoing.write(chunk.subarray(0, 10), () => outgoing.destroy()));
      });
      passed.on('error', () => outgoing.destroy());
      incoming.pipe(passed);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new CuttingProxy(server);
    return proxy;
  }

  get url(): string {
    return `http://root:secret@127.0.0.1:${this.#port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
