import type { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DatabaseError } from '../../src/base/errors/database-error.ts';
import { systemClock, systemRandom } from '../../src/base/shared/clock.ts';
import { type Core, createCore } from '../../src/core/core.ts';
import { type HttpServer, listen } from '../../src/node/http/http-server.ts';
import { createListener } from '../../src/node/http/listener.ts';
import type { Commit } from '../../src/storage/page-store.ts';
import type { Storage } from '../support/conformance/core-host.ts';
import { lmdbStorage } from '../support/conformance/lmdb-storage.ts';
import { memoryStorage } from '../support/conformance/memory-storage.ts';
import { type Answer, Connection } from '../support/crash/connection.ts';
import { HookedStore } from '../unit/database/store/harness.ts';

/** Uploads that can not be stored, behind a real server, mostly since the storage is full: docs/http/errors.md says what is to come. */
const MEGABYTE = 2 ** 20;
/** Of an attachment. */
const MAX_BYTES = 8 * MEGABYTE;
const BINARY = { 'content-type': 'application/octet-stream' };
const REFUSED = { status: 507, json: { error: 'insufficient_storage', reason: 'The test has no more room.' } };
const full = () => new DatabaseError('storage_full', 'The test has no more room.');

/** No two pages of it are the same. */
const bytesOf = (megabytes: number, first = 0) =>
  new Uint8Array(megabytes * MEGABYTE).map((_, index) => (index * 31 + (index >> 8) + (index >> 16) + first) % 256);

function related(document: object, ...parts: readonly Uint8Array[]): Uint8Array {
  const head = `--b\r\ncontent-type: application/json\r\n\r\n${JSON.stringify(document)}`;
  return Buffer.concat([
    Buffer.from(head),
    ...parts.flatMap((part) => [Buffer.from('\r\n--b\r\n\r\n'), part]),
    Buffer.from('\r\n--b--'),
  ]);
}

function form(rev: string, bytes: Uint8Array): Uint8Array {
  const field = `--b\r\ncontent-disposition: form-data; name="_rev"\r\n\r\n${rev}\r\n`;
  const file =
    '--b\r\ncontent-disposition: form-data; name="_attachments"; filename="large"\r\ncontent-type: x/y\r\n\r\n';
  return Buffer.concat([Buffer.from(field + file), bytes, Buffer.from('\r\n--b--')]);
}

describe.each([
  ['memory', memoryStorage],
  ['lmdb', lmdbStorage],
] as const)('an upload on %s', (_name, newStorage) => {
  let storage: Storage;
  let core: Core;
  let server: HttpServer;
  let connection: Connection;
  let beforeCommit: (commit: Commit, file: string) => void;
  const sockets = new Set<Socket>();
  const logged: string[] = [];

  async function start(): Promise<void> {
    const noteError = (message: string) => logged.push(message);
    core = await createCore({
      storage: new HookedStore(await storage.open(), { beforeCommit: (commit, file) => beforeCommit(commit, file) }),
      clock: systemClock,
      random: systemRandom,
      log: { error: noteError, info: () => undefined, debug: () => undefined },
      deferred: () => Promise.reject(new Error('no function is called here')),
      config: { svc: { max_attachment_chunk_size: String(MAX_BYTES) } },
    });
    const listener = createListener(core.handle, noteError);
    const watched: typeof listener = (incoming, outgoing) => {
      sockets.add(incoming.socket);
      return listener(incoming, outgoing);
    };
    server = await listen(watched, '127.0.0.1', 0);
    connection = new Connection(new URL(server.url));
  }

  async function stop(): Promise<void> {
    connection.close();
    await server.close();
    await core.close();
  }

  beforeEach(async () => {
    beforeCommit = () => undefined;
    sockets.clear();
    logged.length = 0;
    storage = await newStorage();
    await start();
    expect((await connection.ask({ method: 'PUT', path: 'db' })).status).toBe(201);
  });

  afterEach(async () => {
    await stop();
    await storage.remove();
    expect(logged).toEqual([]);
  });

  const put = (path: string, body: string | Uint8Array, headers: Record<string, string> = {}): Promise<Answer> =>
    connection.ask({ method: 'PUT', path, body, headers });

  async function written(asked: Promise<Answer>): Promise<string> {
    const { status, json } = await asked;
    expect(status, JSON.stringify(json)).toBe(201);
    return String(Object(json).rev);
  }

  /** Whether these bytes come, and no others. */
  async function holds(path: string, expected: Uint8Array): Promise<boolean> {
    const { status, bytes } = await connection.askBytes({ method: 'GET', path });
    return status === 200 && Buffer.from(expected).equals(bytes);
  }

  async function damage(): Promise<readonly string[]> {
    return (await core.registry.use('db', (open) => open.verify())).damage;
  }

  /** Pages of all files may have so many bytes. Gives the function that sets another bound. */
  function limitPages(bytes: number): (bytes: number) => void {
    let limit = bytes;
    const pages = new Map<string, number>();
    beforeCommit = ({ writePages = [], dropPages = [] }, file) => {
      const next = new Map(pages);
      for (const { number, value } of writePages) next.set(`${file} ${number}`, value.length);
      for (const number of dropPages) next.delete(`${file} ${number}`);
      const sum = [...next.values()].reduce((total, length) => total + length, 0);
      if (writePages.length > 0 && sum > limit) throw full();
      for (const key of pages.keys()) if (!next.has(key)) pages.delete(key);
      for (const [key, length] of next) pages.set(key, length);
    };
    return (next) => {
      limit = next;
    };
  }

  test('beyond a quota is answered 507, stores nothing, frees its space at once, and the connection continues', async () => {
    const setLimit = limitPages(3 * MEGABYTE);
    const first = await written(put('db/doc', '{"n":1}'));
    const rev = await written(put(`db/doc/kept?rev=${first}`, bytesOf(1), BINARY));
    const before = await connection.ask({ method: 'GET', path: 'db/doc' });
    const large = bytesOf(6, 1);
    const headers = { 'content-type': 'multipart/related; boundary=b' };
    const _attachments = { kept: { stub: true }, large: { follows: true, length: large.length } };
    const uploads: readonly (() => Promise<Answer>)[] = [
      () => put(`db/doc/large?rev=${rev}`, large, BINARY),
      () => put('db/other/large', large, BINARY),
      () => put('db/doc', related({ _rev: rev, _attachments }, large), headers),
      () => put('db/other', JSON.stringify({ _attachments: { a: { data: Buffer.from(large).toString('base64') } } })),
      () =>
        connection.ask({
          method: 'POST',
          path: 'db/doc',
          body: form(rev, large),
          headers: { 'content-type': 'multipart/form-data; boundary=b', referer: server.url },
        }),
    ];
    for (const [index, upload] of uploads.entries()) {
      expect(await upload(), `upload ${index}`).toEqual(REFUSED);
      expect(await connection.ask({ method: 'GET', path: 'db/doc' })).toEqual(before);
      expect(await connection.ask({ method: 'GET', path: 'db/other' })).toMatchObject({ status: 404 });
      await written(put(`db/small-${index}/a`, bytesOf(1).subarray(0, 250_000 + index), BINARY));
    }
    expect(await holds('db/doc/kept', bytesOf(1))).toBe(true);
    setLimit(30 * MEGABYTE);
    await written(put(`db/doc/large?rev=${rev}`, large, BINARY));
    expect(sockets.size).toBe(1);
    await stop();
    await start();
    expect(await holds('db/doc/large', large)).toBe(true);
    expect(await damage()).toEqual([]);
  });

  test('of which any commit fails is answered 507, stores nothing, and succeeds when repeated', async () => {
    const large = bytesOf(3);
    let refused = 0;
    for (let isRefused = true; isRefused; ) {
      let commits = 0;
      beforeCommit = ({ writePages, journal }) => {
        if (writePages !== undefined || journal !== undefined) commits += 1;
        if (commits === refused + 1) throw full();
      };
      const path = `db/doc-${refused}`;
      const bytes = large.subarray(refused);
      const answer = await put(`${path}/large`, bytes, BINARY);
      beforeCommit = () => undefined;
      isRefused = answer.status !== 201;
      if (isRefused) {
        refused += 1;
        expect(answer, `commit ${refused}`).toEqual(REFUSED);
        expect(await connection.ask({ method: 'GET', path })).toMatchObject({ status: 404 });
        await written(put(`${path}/large`, bytes, BINARY));
      }
      expect(await holds(`${path}/large`, bytes)).toBe(true);
    }
    // Three of pages, and one of the document.
    expect(refused).toBeGreaterThanOrEqual(4);
    expect(sockets.size).toBe(1);
    expect(await damage()).toEqual([]);
  });

  test('that is refused for its content gets the exact error, stores nothing, and the connection continues', async () => {
    const kept = await written(put('db/doc/kept', bytesOf(1), BINARY));
    const before = await connection.ask({ method: 'GET', path: 'db/doc' });
    const mixed = { 'content-type': 'multipart/related; boundary=b' };
    const announced = (length: number) => related({ _attachments: { a: { follows: true, length } } }, bytesOf(2));
    const limit = `An attachment may have at most ${MAX_BYTES} bytes (svc/max_attachment_chunk_size).`;
    const uploads: readonly (readonly [Promise<Answer>, number, string, unknown])[] = [
      [
        put('db/other/a', bytesOf(2), { ...BINARY, 'content-md5': 'XUFAKrxLKna5cZ2REBfFkg==' }),
        400,
        'content_md5_mismatch',
        'Possible message corruption.',
      ],
      [put('db/other/a', bytesOf(9), BINARY), 413, 'too_large', limit],
      [put(`db/doc/a?rev=${kept}`, bytesOf(9), BINARY), 413, 'too_large', limit],
      [
        put('db/other', announced(2 * MEGABYTE - 1), mixed),
        400,
        'bad_request',
        expect.stringContaining('was given as'),
      ],
      [
        put('db/other', announced(2 * MEGABYTE + 1), mixed),
        400,
        'bad_request',
        expect.stringContaining('was given as'),
      ],
      [put('db/other', announced(2 * MEGABYTE).subarray(0, MEGABYTE), mixed), 400, 'bad_request', expect.any(String)],
    ];
    for (const [answer, status, error, reason] of uploads) {
      expect(await answer).toEqual({ status, json: { error, reason } });
      expect(await connection.ask({ method: 'GET', path: 'db/doc' })).toEqual(before);
      expect(await connection.ask({ method: 'GET', path: 'db/other' })).toMatchObject({ status: 404 });
    }
    expect(await damage()).toEqual([]);
    await written(put('db/other/a', bytesOf(8), BINARY));
    expect(await holds('db/other/a', bytesOf(8))).toBe(true);
    expect(sockets.size).toBe(1);
  });
});
