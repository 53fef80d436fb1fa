import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Handle, PlainRequest, PlainResponse } from '../../../../src/base/shared/message.ts';
import { silentLog } from '../../../../src/base/system/log.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import { createForwarder, type Forwarder } from '../../../../src/node/forwarding/forwarder.ts';
import { frameOf, HELLO } from '../../../../src/node/forwarding/frames.ts';
import { type OwnerSocket, openOwnerSocket } from '../../../../src/node/forwarding/owner-socket.ts';
import { patient } from '../../../support/patience.ts';
import { collect, Endless, textStream } from './bodies.ts';

let folder = '';
let path = '';
const secret = 'of this server';
const open: Forwarder[] = [];
const sockets: OwnerSocket[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-forwarding-'));
  path = join(folder, 'owner');
});

afterEach(async () => {
  for (const forwarder of open.splice(0)) forwarder.close();
  for (const socket of sockets.splice(0)) await socket.close(0);
  await rm(folder, { recursive: true });
});

async function owner(handle: Handle, config = createConfig({}), refusal = () => undefined): Promise<OwnerSocket> {
  const onFailure = () => undefined;
  const socket = await openOwnerSocket({
    path,
    secret,
    handle,
    config: () => config,
    refusal,
    onFailure,
    onReport: () => undefined,
    settingsVersion: () => 'a',
    log: silentLog,
  });
  sockets.push(socket);
  return socket;
}

function forwarder(options: Partial<Parameters<typeof createForwarder>[0]> = {}): Forwarder {
  const created = createForwarder({ path, secret, log: silentLog, ...options });
  open.push(created);
  return created;
}

function request(method: string, more: Partial<PlainRequest> = {}): PlainRequest {
  return { method, url: '/db/a%2Fb?rev=1-a', headers: {}, body: null, ...more };
}

const ok: PlainResponse = { status: 200, headers: {}, body: null };

describe('a forwarded request', () => {
  test('arrives with all its parts, and so does the response', async () => {
    let seen: PlainRequest | undefined;
    await owner((arrived) => {
      seen = arrived;
      return { status: 201, headers: { etag: '"é"', 'set-cookie': 'a=1\nb=2' }, body: 'füür', errorCode: 'conflict' };
    });
    const body = new Uint8Array([0, 255, 10]);
    const sent = {
      headers: { 'x-a': 'é', 'x-settee-client': '10.0.0.1' },
      body,
      peer: '192.0.2.1',
      scheme: 'https' as const,
      user: { name: 'ü', roles: ['a'] },
      hops: 1,
    };
    const answer = await forwarder().handle(request('PUT', sent));
    const { method, url, headers, peer, scheme, user, hops } = seen ?? request('?');
    expect({ method, url, headers, peer, scheme, user, hops }).toEqual({
      ...{ method: 'PUT', url: '/db/a%2Fb?rev=1-a', peer: '192.0.2.1', scheme: 'https', hops: 1 },
      user: { name: 'ü', roles: ['a'] },
      headers: { 'x-a': 'é', 'x-settee-client': '10.0.0.1' },
    });
    expect(seen?.body).toEqual(body);
    expect(await collect(answer.body)).toBe('füür');
    expect({ ...answer, body: null }).toEqual({
      ...{ status: 201, body: null, errorCode: 'conflict' },
      headers: { etag: '"é"', 'set-cookie': 'a=1\nb=2', 'content-type': 'text/plain;charset=UTF-8' },
    });
  });

  test('streams in both directions, with trailers', async () => {
    let trailers: unknown;
    await owner(async ({ body }) => {
      const text = await collect(body);
      trailers = body !== null && typeof body === 'object' && 'trailers' in body ? body.trailers : undefined;
      return { status: 200, headers: {}, body: textStream([text, '!']) };
    });
    const body = textStream(['one ', 'two'], { 'content-md5': 'x' });
    const answer = await forwarder().handle(request('PUT', { body }));
    expect(await collect(answer.body)).toBe('one two!');
    expect(trailers).toEqual({ 'content-md5': 'x' });
  });

  test('of 50 MB arrives whole, and a long text comes back whole', async () => {
    const long = 'ä'.repeat(2_000_000);
    await owner(async ({ body }) => {
      if (body === null || typeof body !== 'object' || !('pull' in body)) throw new Error('no stream');
      let bytes = 0;
      for (let chunk = await body.pull(); chunk !== undefined; chunk = await body.pull()) bytes += chunk.length;
      return { status: 200, headers: { 'x-bytes': `${bytes}` }, body: long };
    });
    const answer = await forwarder().handle(request('PUT', { body: new Uint8Array(52_428_800) }));
    expect(answer.headers['x-bytes']).toBe('52428800');
    expect(await collect(answer.body)).toBe(long);
  });

  test('is read only as far as the owner reads it, and others go on meanwhile', async () => {
    const body = new Endless();
    await owner(({ method }) => (method === 'GET' ? ok : new Promise(() => undefined)));
    const { handle } = forwarder();
    void handle(request('PUT', { body }));
    for (let count = 0; count < 20; count++) expect((await handle(request('GET'))).status).toBe(200);
    await expect.poll(() => body.pulled, patient).toBe(262_144 + 16_384);
    for (let count = 0; count < 20; count++) await handle(request('GET'));
    expect(body.pulled).toBe(262_144 + 16_384);
  });

  test('whose response is not read waits, and ends when its reader gives up', async () => {
    const stream = new Endless();
    await owner(({ url }) => (url === '/endless' ? { status: 200, headers: {}, body: stream } : ok));
    const { handle } = forwarder();
    const { body } = await handle(request('GET', { url: '/endless' }));
    await expect.poll(() => stream.pulled, patient).toBe(262_144 + 16_384);
    expect((await handle(request('GET'))).status).toBe(200);
    expect(stream.pulled).toBe(262_144 + 16_384);
    if (body === null || typeof body !== 'object' || !('pull' in body)) throw new Error('no stream');
    expect((await body.pull())?.length).toBe(16_384);
    await body.cancel();
    await stream.cancelled;
  });

  test('is aborted where the owner works on it', async () => {
    const client = new AbortController();
    const aborted = new Promise<void>((resolve) => {
      void owner(({ signal }) => {
        signal?.addEventListener('abort', () => resolve());
        client.abort();
        return new Promise(() => undefined);
      });
    });
    await expect(forwarder().handle(request('GET', { signal: client.signal }))).rejects.toMatchObject({
      code: 'cancelled',
    });
    await aborted;
  });

  test('has a response without a body for HEAD, with the length', async () => {
    const stream = new Endless();
    await owner(() => ({ status: 200, headers: {}, body: Object.assign(stream, { length: 70_000 }) }));
    const answer = await forwarder().handle(request('HEAD'));
    expect(answer).toEqual({ status: 200, headers: { 'content-length': '70000' }, body: null });
    await stream.cancelled;
  });

  test('is refused as its sender is', async () => {
    const refusal = { status: 403, error: 'forbidden', reason: 'No.' };
    const config = createConfig({});
    sockets.push(
      await openOwnerSocket({
        ...{ path, secret, handle: () => ok, config: () => config, onFailure: () => undefined, log: silentLog },
        onReport: () => undefined,
        settingsVersion: () => 'a',
        refusal: (peer) => (peer === '192.0.2.1' ? refusal : undefined),
      }),
    );
    const { handle } = forwarder();
    const answer = await handle(request('GET', { peer: '192.0.2.1' }));
    expect([answer.status, await collect(answer.body)]).toEqual([403, '{"error":"forbidden","reason":"No."}\n']);
    expect((await handle(request('GET', { peer: '127.0.0.1' }))).status).toBe(200);
  });

  test('that fails in the owner is 500, and tells nothing of the failure', async () => {
    await owner(() => Promise.reject(new Error('secret path')));
    const answer = await forwarder().handle(request('GET'));
    expect(answer.status).toBe(500);
    expect(await collect(answer.body)).not.toContain('secret path');
  });
});

describe('an owner', () => {
  test('that does not come is 503, and nothing was processed', async () => {
    const answer = await forwarder({ waitMs: 10 }).handle(request('PUT'));
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '1']);
    expect(answer.body).toContain('"error":"service_unavailable"');
    expect(answer.body).toContain('The request was not processed.');
  });

  test('that starts again answers those that wait', async () => {
    const answer = forwarder().handle(request('PUT'));
    await owner(() => ({ ...ok, status: 201 }));
    expect((await answer).status).toBe(201);
  });

  test('that ends leaves writes with an unknown outcome, and gets reads a second time', async () => {
    const reached: string[] = [];
    const both = new Promise<void>((resolve) => {
      void owner(({ method }) => {
        reached.push(method);
        if (reached.length === 2) resolve();
        return new Promise(() => undefined);
      });
    });
    const { handle } = forwarder();
    const write = handle(request('PUT', { body: '{}' }));
    const read = handle(request('GET'));
    await both;
    await sockets.pop()?.close(0);
    const unknown = await write;
    expect([unknown.status, unknown.errorCode, unknown.headers['retry-after']]).toEqual([
      503,
      'write_outcome_unknown',
      '1',
    ]);
    expect(unknown.body).toContain('it is unknown whether that was stored');
    await owner(() => ok);
    expect((await read).status).toBe(200);
  });

  test('that ends breaks off the responses that it was sending', async () => {
    await owner(() => ({ status: 200, headers: {}, body: new Endless() }));
    const { body } = await forwarder().handle(request('GET'));
    await sockets.pop()?.close(0);
    await expect(collect(body)).rejects.toMatchObject({ code: 'cancelled' });
  });

  test('whose stream fails breaks it off after what came before', async () => {
    await owner(() => ({ status: 200, headers: {}, body: textStream(['one', new Error('secret path')]) }));
    const { body } = await forwarder().handle(request('GET'));
    if (body === null || typeof body !== 'object' || !('pull' in body)) throw new Error('no stream');
    expect(Buffer.from((await body.pull()) ?? []).toString()).toBe('one');
    await expect(body.pull()).rejects.toMatchObject({ code: 'cancelled' });
  });

  test('sends its settings before the response to the request that changed them', async () => {
    const config = createConfig({});
    await owner(async () => {
      await config.set('log', 'level', 'debug');
      return ok;
    }, config);
    const seen: unknown[] = [];
    const { handle } = forwarder({ onSettings: ({ settings: { log } }) => void seen.push(log?.['level']) });
    await handle(request('PUT'));
    expect(seen).toEqual(['info', 'debug']);
  });

  test('replaces a socket that a killed process has left', async () => {
    const killed = createServer().listen(path);
    await once(killed, 'listening');
    await owner(() => ok);
    expect((await forwarder().handle(request('GET'))).status).toBe(200);
    killed.close();
  });

  test('answers nobody who does not know the secret', async () => {
    let requests = 0;
    await owner(() => {
      requests++;
      return ok;
    });
    const stranger = createConnection(path);
    stranger.on('error', () => undefined);
    for (const part of frameOf(HELLO, 0, 'settee-forward-2 of another server')) stranger.write(part);
    stranger.resume();
    await once(stranger, 'close');
    const { handle } = forwarder({ secret: 'of another server', waitMs: 50 });
    expect((await handle(request('GET'))).status).toBe(503);
    expect(requests).toBe(0);
  });
});
