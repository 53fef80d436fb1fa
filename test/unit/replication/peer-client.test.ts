import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/base/shared/clock.ts';
import { silentLog } from '../../../src/base/system/log.ts';
import type { PeerOutage } from '../../../src/replication/contract.ts';
import { SHORT_ANSWER } from '../../../src/replication/peers/client/answer.ts';
import { anonymous } from '../../../src/replication/peers/client/authorization.ts';
import { PeerClient, type PeerClientOptions } from '../../../src/replication/peers/client/peer-client.ts';
import type { Transport, TransportAnswer, TransportRequest } from '../../../src/replication/peers/client/transport.ts';
import { Reachability } from '../../../src/replication/reachability.ts';

type Reply = (request: TransportRequest) => Promise<TransportAnswer> | TransportAnswer;

/** A peer that answers with one reply after the other, the last of them again and again. */
class ScriptedTransport implements Transport {
  readonly name = 'http://peer.test/db';
  readonly isLocal = false;
  readonly isSlow: boolean;
  readonly requests: TransportRequest[] = [];
  readonly times: number[] = [];
  readonly #replies: readonly Reply[];

  constructor(replies: readonly Reply[], isSlow = false) {
    this.#replies = replies;
    this.isSlow = isSlow;
  }

  async send(request: TransportRequest): Promise<TransportAnswer> {
    this.requests.push(request);
    this.times.push(performance.now());
    const reply = this.#replies[Math.min(this.requests.length, this.#replies.length) - 1];
    if (reply === undefined) throw new Error('no reply');
    return reply(request);
  }
}

function answer(status: number, body: string, headers: Readonly<Record<string, string>> = {}): Reply {
  return () => {
    let left: string | undefined = body;
    const take = async () => {
      const taken = left;
      left = undefined;
      return taken || undefined;
    };
    return {
      status,
      header: (name) => headers[name],
      cookies: [],
      body: { pullText: take, pull: async () => new TextEncoder().encode(await take()), cancel: async () => {} },
    };
  };
}

const unreachable: Reply = () => {
  throw new TypeError('fetch failed', {
    cause: Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
  });
};

/** Bytes of randomness are zeros, so that nothing is added to waits. */
function clientOf(transport: Transport, more: Partial<PeerClientOptions> = {}): PeerClient {
  return new PeerClient({
    transport,
    authorization: anonymous,
    headers: {},
    connections: 4,
    connectionTimeoutMs: 5_000,
    retriesPerRequest: 3,
    clock: systemClock,
    random: (bytes) => bytes,
    log: silentLog,
    signal: new AbortController().signal,
    ...more,
  });
}

const GET = { method: 'GET', path: '/x' };
const json = (client: PeerClient) => client.ask(GET, (one) => one.json(SHORT_ANSWER));

describe('a request that fails', () => {
  const passing: readonly [string, Reply][] = [
    ['by the network', unreachable],
    ...[408, 425, 429, 500, 502, 503, 504].map((status): [string, Reply] => [`with ${status}`, answer(status, '{}')]),
    ['because its answer is cut off', answer(200, '{"ok":tr')],
    ['because its answer is none', answer(200, '<html>')],
  ];

  test.each(passing)('with %s is sent again', async (_, reply) => {
    const transport = new ScriptedTransport([reply, reply, answer(200, '{"ok":true}')]);
    expect(await json(clientOf(transport))).toEqual({ ok: true });
    expect(transport.requests.length).toBe(3);
  });

  test('is sent again a limited number of times, with waits that double', async () => {
    const transport = new ScriptedTransport([unreachable]);
    await expect(json(clientOf(transport))).rejects.toMatchObject({
      code: 'replication_failed',
      reason: "http://peer.test/db can't be reached: connect ECONNREFUSED",
      isRetryable: true,
    });
    expect(transport.requests.length).toBe(4);
    const [first = 0, second = 0, third = 0, fourth = 0] = transport.times;
    expect(second - first).toBeGreaterThanOrEqual(99);
    expect(third - second).toBeGreaterThanOrEqual(199);
    expect(fourth - third).toBeGreaterThanOrEqual(399);
  });

  test.each([
    [400, 'replication_failed', false],
    [401, 'unauthorized', false],
    [403, 'forbidden', false],
    [404, 'db_not_found', false],
    [413, 'replication_failed', false],
  ])('with %i is not sent again', async (status, code, isRetryable) => {
    const transport = new ScriptedTransport([answer(status, '{"error":"e","reason":"r"}')]);
    const reason = `http://peer.test/db answered GET /x with ${status} e: r`;
    await expect(json(clientOf(transport))).rejects.toMatchObject({ code, reason, isRetryable });
    expect(transport.requests.length).toBe(1);
  });

  test('because the database is closed to the user says so', async () => {
    const out = '{"error":"e","reason":"Who are you?"}';
    for (const method of ['GET', 'PUT'] as const) {
      const client = clientOf(new ScriptedTransport([answer(401, out)]));
      await expect(client.ask({ method, path: '' }, (one) => one.json(SHORT_ANSWER))).rejects.toMatchObject({
        code: 'unauthorized',
        reason: 'unauthorized to access or create database http://peer.test/db: Who are you?',
      });
    }
    const forbidden = clientOf(new ScriptedTransport([answer(403, out)]));
    await expect(forbidden.ask({ method: 'GET', path: '' }, (one) => one.json(SHORT_ANSWER))).rejects.toMatchObject({
      reason: 'http://peer.test/db answered GET with 403 e: Who are you?',
    });
  });

  test('is reported with the time of the next attempt, until one succeeds', async () => {
    const told: (PeerOutage | undefined)[] = [];
    const clock = { now: () => 1_000, monotonic: () => 0 };
    const transport = new ScriptedTransport([unreachable, answer(500, '{}'), answer(200, '{}')]);
    await json(clientOf(transport, { clock, onOutage: (outage) => told.push(outage) }));
    expect(told).toEqual([
      {
        reason: "replication_failed: http://peer.test/db can't be reached: connect ECONNREFUSED",
        since: 1_000,
        nextAttempt: 1_100,
      },
      {
        reason: 'replication_failed: http://peer.test/db answered GET /x with 500',
        since: 1_000,
        nextAttempt: 1_200,
      },
      undefined,
    ]);
  });

  test('with 401 can be retried if earlier ones succeeded', async () => {
    const client = clientOf(new ScriptedTransport([answer(200, '{}'), answer(401, '{}')]));
    await json(client);
    await expect(json(client)).rejects.toMatchObject({ code: 'unauthorized', isRetryable: true });
  });

  test('is sent again no sooner than Retry-After says', async () => {
    const transport = new ScriptedTransport([answer(429, '{}', { 'retry-after': '1' }), answer(200, '{}')]);
    await json(clientOf(transport));
    const [first = 0, second = 0] = transport.times;
    expect(second - first).toBeGreaterThanOrEqual(999);
  });

  test('is not retried by the client if Retry-After is long', async () => {
    const transport = new ScriptedTransport([answer(503, '{}', { 'retry-after': '3600' })]);
    await expect(json(clientOf(transport))).rejects.toMatchObject({ isRetryable: true, retryAfterMs: 3_600_000 });
    expect(transport.requests.length).toBe(1);
  });
});

describe('a host that cannot be reached', () => {
  const hostOf = (isOnline?: () => boolean) => ({
    origin: 'http://peer.test',
    reachability: new Reachability(),
    isOnline,
  });
  const ONE = { retriesPerRequest: 1 };

  test('is named by the failure and by what is reported before it', async () => {
    const told: (PeerOutage | undefined)[] = [];
    const client = clientOf(new ScriptedTransport([unreachable]), {
      ...ONE,
      host: hostOf(),
      onOutage: (outage) => told.push(outage),
    });
    await expect(json(client)).rejects.toMatchObject({ code: 'replication_failed', unreachable: 'http://peer.test' });
    const reason = "offline: http://peer.test/db can't be reached: connect ECONNREFUSED";
    expect(told).toEqual([expect.objectContaining({ reason, isOffline: true })]);
  });

  test.each<[what: string, reply: Reply]>([
    ['fails', answer(500, '{}')],
    ['is overloaded', answer(503, '{}')],
    ['answers nonsense', answer(200, '<html>')],
  ])('is another than one that %s', async (_, reply) => {
    const client = clientOf(new ScriptedTransport([reply]), { ...ONE, host: hostOf(() => true) });
    const failed: unknown = await json(client).catch((failure: unknown) => failure);
    expect(failed).toMatchObject({ code: 'replication_failed', unreachable: undefined });
  });

  test('is assumed for every connection that breaks while the device is offline', async () => {
    const broken: Reply = () => {
      throw new TypeError('fetch failed', { cause: new Error('other side closed') });
    };
    const failureWith = (isOnline: boolean) =>
      json(clientOf(new ScriptedTransport([broken]), { ...ONE, host: hostOf(() => isOnline) })).catch(
        (failure: unknown) => failure,
      );
    expect(await failureWith(true)).toMatchObject({ unreachable: undefined });
    expect(await failureWith(false)).toMatchObject({
      unreachable: 'http://peer.test',
      reason: "http://peer.test/db can't be reached: this device is offline",
    });
  });

  test('is asked again as soon as it responds to another replication', async () => {
    const host = hostOf();
    const transport = new ScriptedTransport([
      ...Array.from({ length: 10 }, () => unreachable),
      answer(200, '{"ok":1}'),
    ]);
    const client = clientOf(transport, {
      ...{ host, retriesPerRequest: 10 },
    });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const response = json(client);
      while (transport.requests.length < 10) await vi.advanceTimersByTimeAsync(100);
      // The waits double: the next request would come after 20 s.
      host.reachability.noteResponse('http://peer.test');
      expect(await response).toEqual({ ok: 1 });
    } finally {
      vi.useRealTimers();
    }
  });

  test('wakes others with its first response', async () => {
    const host = hostOf();
    const woken = vi.fn();
    host.reachability.next('http://peer.test', woken);
    await json(clientOf(new ScriptedTransport([answer(200, '{}')]), { host }));
    expect(woken).toHaveBeenCalledTimes(1);
  });
});

describe('a silent peer', () => {
  const silent: Reply = ({ signal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

  test('makes a request fail', async () => {
    const transport = new ScriptedTransport([silent]);
    const attempt = json(clientOf(transport, { connectionTimeoutMs: 50, retriesPerRequest: 0 }));
    await expect(attempt).rejects.toMatchObject({
      reason: 'http://peer.test/db sent nothing for 0.05 s',
      isRetryable: true,
    });
    expect(transport.requests[0]?.signal.aborted).toBe(true);
  });

  test('makes a request fail in the middle of its response', async () => {
    const pieces = ['{"a":', new Promise<never>(() => {})];
    const reply: Reply = () => ({
      status: 200,
      header: () => undefined,
      cookies: [],
      body: { pullText: async () => pieces.shift(), pull: () => new Promise(() => {}), cancel: async () => {} },
    });
    const attempt = json(clientOf(new ScriptedTransport([reply]), { connectionTimeoutMs: 50, retriesPerRequest: 0 }));
    await expect(attempt).rejects.toMatchObject({ reason: 'http://peer.test/db sent nothing for 0.05 s' });
  });

  test('is waited for while each piece arrives in time', async () => {
    const pieces = ['[1', ',2', ',3', ']'];
    const late = () => new Promise<string | undefined>((resolve) => setTimeout(() => resolve(pieces.shift()), 40));
    const reply: Reply = () => ({
      status: 200,
      header: () => undefined,
      cookies: [],
      body: { pullText: late, pull: () => new Promise(() => {}), cancel: async () => {} },
    });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const client = clientOf(new ScriptedTransport([reply]), { connectionTimeoutMs: 100, retriesPerRequest: 0 });
    let isRead = false;
    const read = json(client).finally(() => {
      isRead = true;
    });
    // What takes real turns in between must not find that the time has passed already.
    while (!isRead) {
      await turn();
      await vi.advanceTimersByTimeAsync(10);
    }
    vi.useRealTimers();
    expect(await read).toEqual([1, 2, 3]);
  });
});

describe('simultaneous requests', () => {
  test('are limited, and fewer after the peer reports too many', async () => {
    let now = 0;
    let most = 0;
    const slow: Reply = async (request) => {
      now++;
      most = Math.max(most, now);
      await new Promise((resolve) => setTimeout(resolve, 5));
      now--;
      return answer(200, '{}')(request);
    };
    const transport = new ScriptedTransport([slow]);
    const client = clientOf(transport, { connections: 3 });
    await Promise.all(Array.from({ length: 12 }, () => json(client)));
    expect(most).toBe(3);
  });

  test('continue one by one when the peer is overloaded', async () => {
    const now = { active: 0, most: 0 };
    const slow: Reply = async (request) => {
      now.active++;
      now.most = Math.max(now.most, now.active);
      await new Promise((resolve) => setTimeout(resolve, 5));
      now.active--;
      return answer(200, '{}')(request);
    };
    const busy = answer(429, '{}', { 'retry-after': '0' });
    const transport = new ScriptedTransport([busy, busy, slow]);
    const client = clientOf(transport, { connections: 4 });
    await json(client);
    await Promise.all(Array.from({ length: 8 }, () => json(client)));
    expect(now.most).toBe(1);
  });

  test('end when the replication does', async () => {
    const controller = new AbortController();
    const transport = new ScriptedTransport([unreachable]);
    const attempt = json(clientOf(transport, { signal: controller.signal, retriesPerRequest: 100 }));
    controller.abort();
    await expect(attempt).rejects.toMatchObject({ code: 'cancelled' });
  });
});

describe("a refusal without details for users who can't see a peer's text", () => {
  test.each([
    ['{"error":"SECRET","reason":"SECRET"}', 400, 'http://peer.test/db answered GET /x with 400'],
    ['{"error":"forbidden","reason":"SECRET"}', 403, 'http://peer.test/db answered GET /x with 403 forbidden'],
    [
      '{"error":"not_found","reason":"no_db_file"}',
      404,
      'http://peer.test/db answered GET /x with 404 not_found: no_db_file',
    ],
    ['SECRET', 500, 'http://peer.test/db answered GET /x with 500'],
  ])('%s', async (body, status, told) => {
    const transport = new ScriptedTransport([answer(status, body)]);
    const attempt = json(clientOf(transport, { tellsReasons: false, retriesPerRequest: 0 }));
    await expect(attempt).rejects.toThrow(told);
    await expect(attempt).rejects.not.toThrow(/SECRET/);
  });
});

describe('a refusal that repeats credentials of the request', () => {
  const headers = {
    authorization: 'Bearer abc.def-123_456',
    cookie: 'AuthSession=YW5hOjY3ODk=; a=b',
    'x-key': 'short',
  };

  test.each([
    ['no rights: Bearer abc.def-123_456', 'no rights: …'],
    ['the token abc.def-123_456 is unknown, AuthSession YW5hOjY3ODk= too', 'the token … is unknown, AuthSession … too'],
    [{ headers: { cookie: 'AuthSession=YW5hOjY3ODk=; a=b' } }, '{"headers":{"cookie":"…"}}'],
    ['short words stay, such as Bearer', 'short words stay, such as Bearer'],
    [`${'x'.repeat(990)} abc.def-123_456`, `${'x'.repeat(990)} …`],
  ])('tells %.60j without them', async (given, told) => {
    const transport = new ScriptedTransport([answer(403, JSON.stringify({ error: 'forbidden', reason: given }))]);
    const authorization = { ...anonymous, headersFor: async () => headers };
    await expect(json(clientOf(transport, { authorization }))).rejects.toMatchObject({
      reason: `http://peer.test/db answered GET /x with 403 forbidden: ${told}`,
    });
  });
});

describe('a sent body', () => {
  const long = JSON.stringify({ text: 'word '.repeat(2_000) });
  const POST = { method: 'POST', path: '/_bulk_docs', body: long };

  async function inflated(body: TransportRequest['body']): Promise<string> {
    if (!(body instanceof Uint8Array)) throw new Error('the body is not compressed');
    return new Response(new Blob([body]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
  }

  test('is compressed once the peer is known to accept that', async () => {
    const transport = new ScriptedTransport([answer(200, '{}', { server: 'CouchDB/3.4.3' })], true);
    const client = clientOf(transport);
    for (let times = 0; times < 2; times++) await client.ask(POST, (one) => one.json(SHORT_ANSWER));
    const [first, second] = transport.requests;
    expect(first?.body).toBe(long);
    expect(second?.headers).toMatchObject({ 'content-encoding': 'gzip', 'content-type': 'application/json' });
    expect(await inflated(second?.body)).toBe(long);
  });

  test('is sent uncompressed to a peer that turns out not to accept compression', async () => {
    const old = { server: 'CouchDB/0.9' };
    const transport = new ScriptedTransport(
      [answer(200, '{}', old), answer(415, '{}', old), answer(200, '{}', old)],
      true,
    );
    const client = clientOf(transport, { retriesPerRequest: 0 });
    for (let times = 0; times < 3; times++) await client.ask(POST, (one) => one.json(SHORT_ANSWER));
    expect(transport.requests.map(({ body }) => typeof body)).toEqual(['string', 'object', 'string', 'string']);
  });

  test('has the headers of the replication', async () => {
    const transport = new ScriptedTransport([answer(200, '{}')]);
    await json(clientOf(transport, { headers: { 'x-tenant': 'a', accept: 'application/x' } }));
    expect(transport.requests[0]?.ownHeaders).toMatchObject({ 'x-tenant': 'a', accept: 'application/x' });
  });
});
