import { gzipSync } from 'node:zlib';
import { afterEach, expect, test, vi } from 'vitest';
import type { ByteStream, PlainRequest, PlainResponse } from '../../../src/base/shared/message.ts';
import type { Core } from '../../../src/core/core.ts';
import { ask, openCore } from './support.ts';

/** Two bodies of 100 KB, counted four times, are more than this; one is not. */
const settings = { httpd: { max_bytes_in_flight: '500000' } };
const large = JSON.stringify({ text: 'x'.repeat(100_000) });
const json = { 'content-type': 'application/json' };

let core: Core;

afterEach(async () => {
  vi.useRealTimers();
  await core.close();
});

/** A body that comes at once, but for its end, which comes when its sender is told to go on. */
function heldBack(text: string): {
  readonly body: ByteStream;
  readonly pulls: () => number;
  readonly isRefused: () => boolean;
  readonly goOn: () => void;
} {
  const bytes = new TextEncoder().encode(text);
  let goOn: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let pulls = 0;
  let failure: unknown;
  const pull = async () => {
    pulls += 1;
    if (pulls === 1) return bytes;
    await gate;
    if (failure !== undefined) throw failure;
    return undefined;
  };
  const cancel = async (reason?: unknown) => {
    failure = reason;
    goOn();
  };
  return {
    body: { length: bytes.length, pull, cancel },
    pulls: () => pulls,
    isRefused: () => failure !== undefined,
    goOn: () => goOn(),
  };
}

function post(body: PlainRequest['body'], headers = json, peer?: string): Promise<PlainResponse> {
  return Promise.resolve(core.handle({ method: 'POST', url: '/db', headers, body, peer }));
}

function heldBackNot(text: string): ByteStream {
  const { body, goOn } = heldBack(text);
  goOn();
  return body;
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

test('a large body waits until another one is done, holding what has arrived', async () => {
  core = await openCore(settings);
  await ask(core, 'PUT /db');
  const [first, second] = [heldBack(large), heldBack(large)];
  const answers = [post(first.body), post(second.body)];
  await turns();
  expect([first.pulls(), second.pulls()]).toEqual([2, 1]);
  // What is small, and what brings nothing, need not wait.
  expect((await ask(core, 'PUT /db/small', { body: '{}' })).status).toBe(201);
  expect((await ask(core, 'GET /db/_all_docs')).status).toBe(200);
  second.goOn();
  first.goOn();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([201, 201]);
});

test("a body that is announced, but doesn't arrive, delays no other request", async () => {
  core = await openCore(settings);
  await ask(core, 'PUT /db');
  let end: () => void = () => undefined;
  const pull = () => new Promise<undefined>((resolve) => (end = () => resolve(undefined)));
  const answer = post({ length: 60_000_000, pull, cancel: async () => {} });
  await turns();
  expect((await post(new TextEncoder().encode(large))).status).toBe(201);
  end();
  expect((await answer).status).toBe(400);
});

test('a body that stops arriving is refused when another one waits', async () => {
  core = await openCore(settings);
  await ask(core, 'PUT /db');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const slow = heldBack(large);
  const refused = post(slow.body, json, '192.0.2.1');
  await turns();
  const other = post(heldBackNot(large), json, '192.0.2.2');
  await turns();
  expect(slow.isRefused()).toBe(false);
  vi.advanceTimersByTime(1_000);
  const { status, headers, body } = await refused;
  expect([status, headers['retry-after']]).toEqual([503, '5']);
  expect(JSON.parse(String(body)).reason).toMatch(/^The request arrived too slowly while others waited for memory/);
  expect((await other).status).toBe(201);
});

test('compressed bodies count their inflated size', async () => {
  core = await openCore(settings);
  await ask(core, 'PUT /db');
  const text = JSON.stringify({ text: 'x'.repeat(3_000_000) });
  const headers = { ...json, 'content-encoding': 'gzip' };
  const answers = await Promise.all(Array.from({ length: 5 }, () => post(gzipSync(text), headers)));
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
});

test('a request that waits too long is refused, with Retry-After', async () => {
  core = await openCore(settings);
  await ask(core, 'PUT /db');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const first = heldBack(large);
  const answer = post(first.body);
  await turns();
  const refused = post(new TextEncoder().encode(large));
  await turns();
  vi.advanceTimersByTime(30_000);
  const { status, headers, body } = await refused;
  expect([status, headers['retry-after']]).toEqual([503, '5']);
  expect(JSON.parse(String(body))).toEqual({
    error: 'service_unavailable',
    reason:
      'Requests and responses already take all the memory that httpd/max_bytes_in_flight permits; nothing was changed. Send the request again later, or in smaller parts.',
  });
  first.goOn();
  expect((await answer).status).toBe(201);
  // Nothing is left of the refused one.
  expect((await post(new TextEncoder().encode(large))).status).toBe(201);
});

test('a body larger than the whole budget is accepted alone', async () => {
  core = await openCore(settings);
  await ask(core, 'PUT /db');
  expect((await post(new TextEncoder().encode(JSON.stringify({ text: 'x'.repeat(1_000_000) })))).status).toBe(201);
});
