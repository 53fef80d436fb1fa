import { gzipSync } from 'node:zlib';
import { afterEach, expect, test, vi } from 'vitest';
import type { Core } from '../../../src/core.ts';
import type { ByteStream, PlainRequest, PlainResponse } from '../../../src/shared/message.ts';
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

/** A body whose sender goes on only when it is told to. */
function heldBack(text: string): {
  readonly body: ByteStream;
  readonly begun: () => boolean;
  readonly goOn: () => void;
} {
  const bytes = new TextEncoder().encode(text);
  let goOn: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let pulls = 0;
  const pull = async () => {
    pulls += 1;
    if (pulls > 1) return undefined;
    await gate;
    return bytes;
  };
  return { body: { length: bytes.length, pull, cancel: async () => {} }, begun: () => pulls > 0, goOn: () => goOn() };
}

function post(body: PlainRequest['body'], headers = json): Promise<PlainResponse> {
  return Promise.resolve(core.handle({ method: 'POST', url: '/db', headers, body }));
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

test('a large body waits until another one is done, before anything of it is read', async () => {
  core = await openCore(settings);
  await ask(core, 'PUT /db');
  const [first, second] = [heldBack(large), heldBack(large)];
  const answers = [post(first.body), post(second.body)];
  await turns();
  expect([first.begun(), second.begun()]).toEqual([true, false]);
  // What is small, and what brings nothing, need not wait.
  expect((await ask(core, 'PUT /db/small', { body: '{}' })).status).toBe(201);
  expect((await ask(core, 'GET /db/_all_docs')).status).toBe(200);
  second.goOn();
  first.goOn();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([201, 201]);
});

test('compressed bodies count what they are inflated to', async () => {
  core = await openCore(settings);
  await ask(core, 'PUT /db');
  const text = JSON.stringify({ text: 'x'.repeat(3_000_000) });
  const headers = { ...json, 'content-encoding': 'gzip' };
  const answers = await Promise.all(Array.from({ length: 5 }, () => post(gzipSync(text), headers)));
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
});

test('who waits for too long is refused, and told when to come again', async () => {
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
      'The service has as many bytes of requests and answers under way as httpd/max_bytes_in_flight permits; nothing was changed. Send the request again later, or in smaller parts.',
  });
  first.goOn();
  expect((await answer).status).toBe(201);
  // Nothing is left of the refused one.
  expect((await post(new TextEncoder().encode(large))).status).toBe(201);
});

test('a body larger than all that may be in flight is taken alone', async () => {
  core = await openCore(settings);
  await ask(core, 'PUT /db');
  expect((await post(new TextEncoder().encode(JSON.stringify({ text: 'x'.repeat(1_000_000) })))).status).toBe(201);
});
