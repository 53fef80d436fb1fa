import { describe, expect, test } from 'vitest';
import type { PlainRequest } from '../../../../src/base/shared/message.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import { patient } from '../../../support/patience.ts';
import { collect, Endless, textStream } from './bodies.ts';
import { Cable, connect, errorLog, KEY, OTHER_KEY, ok, request, serve, useServers } from './linked-servers.ts';

useServers();

/** The other end of a link counts as lost after six beats, which is more than a pause of a busy machine. */
const BEAT_MS = 400;

describe('a request to another server', () => {
  test('arrives with all its parts and one more hop, and so does the response', async () => {
    let seen: PlainRequest | undefined;
    const { url: address } = await serve((arrived) => {
      seen = arrived;
      return { status: 201, headers: { etag: '"é"', 'set-cookie': 'a=1\nb=2' }, body: 'füür', errorCode: 'conflict' };
    });
    const sent = {
      ...{ headers: { 'x-a': 'é' }, body: new Uint8Array([0, 255, 10]), peer: '192.0.2.1' },
      ...{ scheme: 'https' as const, user: { name: null, roles: ['_admin', 'ä'] }, hops: 1 },
    };
    const answer = await connect().forward(address, request('PUT', sent));
    const { method, url, headers, body, peer, scheme, user, hops } = seen ?? request('?');
    expect({ method, url, headers, body, peer, scheme, user, hops }).toEqual({
      ...{ method: 'PUT', url: '/db/a%2Fb?rev=1-a', peer: '192.0.2.1', scheme: 'https', headers: { 'x-a': 'é' } },
      ...{ body: new Uint8Array([0, 255, 10]), user: { name: null, roles: ['_admin', 'ä'] }, hops: 2 },
    });
    expect(await collect(answer.body)).toBe('füür');
    expect({ ...answer, body: null }).toEqual({
      ...{ status: 201, body: null, errorCode: 'conflict' },
      headers: { etag: '"é"', 'set-cookie': 'a=1\nb=2', 'content-type': 'text/plain;charset=UTF-8' },
    });
  });

  test('of a client has no user, and its first hop', async () => {
    let seen: PlainRequest | undefined;
    const { url } = await serve((arrived) => {
      seen = arrived;
      return ok;
    });
    await connect().forward(url, request('GET'));
    expect([seen?.user, seen?.hops, seen?.peer]).toEqual([undefined, 1, undefined]);
  });

  test('streams in both directions, with trailers', async () => {
    let trailers: unknown;
    const { url } = await serve(async ({ body }) => {
      const text = await collect(body);
      trailers = body !== null && typeof body === 'object' && 'trailers' in body ? body.trailers : undefined;
      return { status: 200, headers: {}, body: textStream([text, '!'], { 'content-md5': 'y' }) };
    });
    const body = textStream(['one ', 'two'], { 'content-md5': 'x' });
    const answer = await connect().forward(url, request('PUT', { body }));
    expect(await collect(answer.body)).toBe('one two!');
    expect(answer.body).toMatchObject({ trailers: { 'content-md5': 'y' } });
    expect(trailers).toEqual({ 'content-md5': 'x' });
  });

  test('is read only as far as it is wanted, and others go on meanwhile', async () => {
    const body = new Endless();
    const { url } = await serve(({ method }) => (method === 'GET' ? ok : new Promise(() => undefined)));
    const links = connect();
    void links.forward(url, request('PUT', { body }));
    for (let count = 0; count < 20; count++) expect((await links.forward(url, request('GET'))).status).toBe(200);
    await expect.poll(() => body.pulled, patient).toBe(262_144 + 16_384);
  });

  test('is aborted where it is worked on, when its client goes', async () => {
    const client = new AbortController();
    let onAbort: () => void = () => undefined;
    const aborted = new Promise<void>((resolve) => {
      onAbort = resolve;
    });
    const { url } = await serve(({ signal }) => {
      signal?.addEventListener('abort', () => onAbort());
      client.abort();
      return new Promise(() => undefined);
    });
    await expect(connect().forward(url, request('GET', { signal: client.signal }))).rejects.toMatchObject({
      code: 'cancelled',
    });
    await aborted;
  });

  test('whose response is not wanted any more ends there', async () => {
    const stream = new Endless();
    const { url } = await serve(() => ({ status: 200, headers: {}, body: stream }));
    const { body } = await connect().forward(url, request('GET'));
    if (body === null || typeof body !== 'object' || !('pull' in body)) throw new Error('no stream');
    await body.pull();
    await body.cancel();
    await stream.cancelled;
  });

  test('is refused as its client is', async () => {
    const refusal = { status: 403, error: 'forbidden', reason: 'No.' };
    const { url } = await serve(() => ok, { refusal: (peer) => (peer === '192.0.2.1' ? refusal : undefined) });
    const links = connect();
    const answer = await links.forward(url, request('GET', { peer: '192.0.2.1' }));
    expect([answer.status, await collect(answer.body)]).toEqual([403, '{"error":"forbidden","reason":"No."}\n']);
    expect((await links.forward(url, request('GET', { peer: '127.0.0.1' }))).status).toBe(200);
  });

  test('waits for a server that starts', async () => {
    const { url, close } = await serve(() => ok);
    await close();
    const answer = connect().forward(url, request('PUT'));
    await serve(() => ({ ...ok, status: 201 }), { port: Number(new URL(url).port) });
    expect((await answer).status).toBe(201);
  });

  test('to a server that does not come is 503, and nothing was processed', async () => {
    const { url, close } = await serve(() => ok);
    await close();
    const links = connect({ waitMs: 10, headersFor: () => ({ vary: 'Origin' }) });
    const answer = await links.forward(url, request('PUT'));
    expect([answer.status, answer.errorCode, answer.headers]).toEqual([
      ...[503, 'shutting_down'],
      { 'content-type': 'application/json', 'cache-control': 'no-store', 'retry-after': '1', vary: 'Origin' },
    ]);
    expect(answer.body).toContain('"error":"service_unavailable"');
    expect(answer.body).toContain('The server that owns the database does not answer');
    expect((await links.forward('no address', request('PUT'))).status).toBe(503);
  });
});

describe('a server that is lost', () => {
  /** A server behind a cable, which answers no request until it is asked for the second time by the same method. */
  async function behindCable() {
    const reached: string[] = [];
    let onBoth: () => void = () => undefined;
    const both = new Promise<void>((resolve) => {
      onBoth = resolve;
    });
    const server = await serve(
      ({ method }) => {
        if (reached.push(method) === 2) onBoth();
        return reached.length > 2 ? ok : new Promise(() => undefined);
      },
      { beatMs: BEAT_MS },
    );
    const cable = await Cable.to(server.url);
    server.addresses.push(cable.url);
    return { server, cable, both, reached };
  }

  test('leaves writes with an unknown outcome, and gets reads a second time', async () => {
    const { cable, both, reached } = await behindCable();
    const links = connect();
    const write = links.forward(cable.url, request('PUT', { body: '{}' }));
    const read = links.forward(cable.url, request('GET'));
    await both;
    cable.cut();
    const unknown = await write;
    expect([unknown.status, unknown.errorCode]).toEqual([503, 'write_outcome_unknown']);
    expect(unknown.body).toContain('it is unknown whether that was stored');
    expect((await read).status).toBe(200);
    expect(reached).toEqual(['PUT', 'GET', 'GET']);
  });

  test('is noticed although it closes nothing', async () => {
    const { server, cable, both, reached } = await behindCable();
    const links = connect({ beatMs: BEAT_MS });
    const write = links.forward(cable.url, request('PUT', { body: '{}' }));
    const read = links.forward(cable.url, request('GET'));
    await both;
    cable.pull();
    expect((await write).errorCode).toBe('write_outcome_unknown');
    expect((await read).status).toBe(200);
    expect(reached).toEqual(['PUT', 'GET', 'GET']);
    // Its own end notices it, too: requests were under way there.
    await expect.poll(() => server.links.count, patient).toBe(1);
  });

  test('breaks off the responses that it was sending', async () => {
    const server = await serve(() => ({
      status: 200,
      headers: {},
      body: textStream(['one', new Promise<never>(() => undefined) as never]),
    }));
    const cable = await Cable.to(server.url);
    server.addresses.push(cable.url);
    const { body } = await connect().forward(cable.url, request('GET'));
    cable.cut();
    await expect(collect(body)).rejects.toMatchObject({ code: 'cancelled' });
  });

  test('is not one that works on a request for long', async () => {
    let finish: () => void = () => undefined;
    const server = await serve(
      () =>
        new Promise((resolve) => {
          finish = () => resolve({ ...ok, status: 201 });
        }),
    );
    const cable = await Cable.to(server.url);
    server.addresses.push(cable.url);
    const answer = connect({ beatMs: BEAT_MS }).forward(cable.url, request('PUT'));
    // Far more than six beats: it asks for signs of life again and again.
    await expect.poll(() => cable.sent[0]?.length, patient).toBeGreaterThan(10);
    finish();
    expect((await answer).status).toBe(201);
    expect(cable.sent).toHaveLength(1);
  });
});

describe('links', () => {
  test('are closed at both ends when they are not retained, after what is under way', async () => {
    let finish: () => void = () => undefined;
    const one = await serve(({ method }) =>
      method === 'GET'
        ? ok
        : new Promise((resolve) => {
            finish = () => resolve({ ...ok, status: 201 });
          }),
    );
    const two = await serve(() => ok);
    const links = connect();
    await links.forward(one.url, request('GET'));
    const write = links.forward(one.url, request('PUT'));
    await links.forward(two.url, request('GET'));
    expect([one.links.count, two.links.count]).toEqual([1, 1]);
    links.retain([]);
    await expect.poll(() => two.links.count, patient).toBe(0);
    await expect.poll(() => links.isConnected(two.url), patient).toBe(false);
    expect(one.links.count).toBe(1);
    finish();
    expect((await write).status).toBe(201);
    await expect.poll(() => one.links.count, patient).toBe(0);
    // They are made again when they are needed.
    expect((await links.forward(two.url, request('GET'))).status).toBe(200);
  });

  test('to a server that has left are not waited for', async () => {
    const links = connect({ waitMs: 3_600_000 });
    links.retain(['http://127.0.0.1:9/']);
    const waiting = links.forward('http://127.0.0.1:9/', request('PUT'));
    links.retain([]);
    expect(await waiting).toMatchObject({ status: 503, errorCode: 'not_owner' });
  });

  test('that are retained are made before they are needed, and again', async () => {
    const server = await serve(() => ok);
    const cable = await Cable.to(server.url);
    server.addresses.push(cable.url);
    const links = connect();
    links.retain([cable.url]);
    await expect.poll(() => links.isConnected(cable.url), patient).toBe(true);
    cable.cut();
    await expect.poll(() => links.isConnected(cable.url), patient).toBe(false);
    await expect.poll(() => links.isConnected(cable.url), patient).toBe(true);
    links.retain([cable.url]);
    expect(cable.sent).toHaveLength(2);
  });

  test('end in order when their server closes: what it has received is answered', async () => {
    let finish: () => void = () => undefined;
    let begun: () => void = () => undefined;
    const isBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const {
      url,
      close,
      links: accepted,
    } = await serve(
      () =>
        new Promise((resolve) => {
          finish = () => resolve({ ...ok, status: 201 });
          begun();
        }),
    );
    const links = connect({ waitMs: 10 });
    links.retain([url]);
    await expect.poll(() => links.isConnected(url), patient).toBe(true);
    const write = links.forward(url, request('PUT'));
    await isBegun;
    const closed = close();
    await expect.poll(() => links.isConnected(url), patient).toBe(false);
    // It is not sent to a server that closes.
    expect((await links.forward(url, request('PUT'))).errorCode).toBe('shutting_down');
    expect(accepted.count).toBe(1);
    finish();
    expect((await write).status).toBe(201);
    await closed;
  });

  test('bring the settings of one server, before the response to the request that changed them', async () => {
    const config = createConfig({});
    let version = 'a';
    const change = async () => {
      version = 'b';
      await config.set('log', 'level', 'debug');
      return ok;
    };
    const one = await serve(change, { config: () => config, settingsVersion: () => version });
    const two = await serve(() => ok);
    const seen: unknown[] = [];
    const links = connect({
      onSettings: ({ version: name, settings: { log } }) => void seen.push([name, log?.['level']]),
    });
    await links.forward(one.url, request('PUT'));
    await links.forward(two.url, request('PUT'));
    expect(seen).toEqual([]);
    await config.set('log', 'level', 'info');
    version = 'a';
    links.followSettings(one.url);
    await links.forward(one.url, request('PUT'));
    expect(seen).toEqual([
      ['a', 'info'],
      ['b', 'debug'],
    ]);
    // Those of another server, on a link that is open already.
    links.followSettings(two.url);
    await links.forward(two.url, request('GET'));
    await config.set('log', 'level', 'error');
    await links.forward(one.url, request('GET'));
    expect(seen).toEqual([
      ['a', 'info'],
      ['b', 'debug'],
      ['a', 'info'],
    ]);
  });

  test('to a server with another key are not made, and both logs say so once', async () => {
    const [here, there] = [errorLog(), errorLog()];
    let requests = 0;
    const { url } = await serve(
      () => {
        requests++;
        return ok;
      },
      { key: OTHER_KEY, log: there.log },
    );
    const cable = await Cable.to(url);
    const links = connect({ waitMs: 10, log: here.log });
    links.retain([cable.url]);
    await expect.poll(() => cable.sent.length, patient).toBeGreaterThan(3);
    expect((await links.forward(cable.url, request('GET'))).status).toBe(503);
    expect(requests).toBe(0);
    expect(here.errors).toEqual([
      `The server at ${cable.url} can't be reached. It closed the connection instead of proving that it knows the key of this cluster: it has another key, or another address than this one; its log says which.`,
    ]);
    expect(there.errors).toEqual([
      'Something at 127.0.0.1 that does not know the key of this cluster has tried to connect as one of its servers, and was refused. It is said once for each address.',
    ]);
    const said = Buffer.concat(cable.sent.flat()).toString('latin1');
    expect(said).not.toContain(KEY);
  });

  test('need a key of 32 bytes', () => {
    for (const key of ['', 'abc', `${KEY}0`]) expect(() => connect({ key })).toThrow('is not 32 bytes in hex');
  });
});
