/** What feeds of changes hold of their database, and of the bytes in flight, is given back whatever becomes of them. */
import { afterEach, expect, test, vi } from 'vitest';
import { ByteBudget } from '../../../src/base/shared/byte-budget.ts';
import type { ByteStream, PlainRequest } from '../../../src/base/shared/message.ts';
import { createHandle } from '../../../src/http/http-service.ts';
import { isStream } from '../../../src/http/request/bodies.ts';
import { noteTimers } from '../../support/noted-timers.ts';
import { patient } from '../../support/patience.ts';
import { Watched } from '../database/changes/watched-databases.ts';
import { JSON_HEADERS, noParts, services } from './support.ts';

const none = { leases: 0, snapshots: 0 };
const live = ['longpoll', 'continuous', 'eventsource'] as const;

afterEach(() => {
  vi.useRealTimers();
});

async function openService() {
  const watched = await Watched.open();
  const budget = new ByteBudget(268_435_456, 1_000);
  const { registry, feeds } = watched;
  const handle = createHandle(services({}, { registry, feeds, bytesInFlight: budget }), noParts, () => false);
  const ask = async (url: string, more: Partial<PlainRequest> = {}) =>
    handle({ method: 'GET', url, headers: JSON_HEADERS, body: null, ...more });
  const follow = async (url: string, more: Partial<PlainRequest> = {}): Promise<ByteStream> => {
    const { status, body } = await ask(url, more);
    if (!isStream(body)) throw new Error(`a stream was expected, not ${status} ${body}`);
    return body;
  };
  return { watched, budget, ask, follow };
}

/** Reads up to the wait. */
async function readAll(stream: ByteStream, text: string): Promise<void> {
  let read = '';
  while (!read.includes(text)) read += new TextDecoder().decode(await stream.pull());
}

test.each(live)('a %s feed that its client closes unread releases what it took', async (feed) => {
  const { watched, budget, follow } = await openService();
  await watched.write('a');
  const stream = await follow(`/db/_changes?feed=${feed}`);
  expect(watched.held).toEqual({ leases: 1, snapshots: 1 });
  expect(budget.used).toBeGreaterThan(0);
  await stream.cancel();
  expect([watched.held, budget.used]).toEqual([none, 0]);
});

test.each(['continuous', 'eventsource'])(
  'a waiting %s feed holds nothing, and ends when it is closed',
  async (feed) => {
    const { watched, budget, follow } = await openService();
    await watched.write('a');
    const stream = await follow(`/db/_changes?feed=${feed}&heartbeat=60000`);
    await readAll(stream, '"id":"a"');
    const next = stream.pull();
    await vi.waitFor(() => expect([watched.held, budget.used]).toEqual([none, 0]), patient);
    await watched.write('b');
    expect(new TextDecoder().decode(await next)).toContain('"id":"b"');
    expect(budget.used).toBeGreaterThan(0);
    const last = stream.pull();
    await vi.waitFor(() => expect(budget.used).toBe(0), patient);
    await stream.cancel();
    expect([await last, watched.held, budget.used]).toEqual([undefined, none, 0]);
  },
);

test('a waiting longpoll holds nothing', async () => {
  const { watched, budget, follow } = await openService();
  const stream = await follow('/db/_changes?feed=longpoll');
  await readAll(stream, '{"results":[\n');
  const row = stream.pull();
  await vi.waitFor(() => expect([watched.held, budget.used]).toEqual([none, 0]), patient);
  await watched.write('a');
  expect(new TextDecoder().decode(await row)).toContain('"id":"a"');
  await readAll(stream, '"last_seq":1');
  expect([await stream.pull(), watched.held, budget.used]).toEqual([undefined, none, 0]);
});

test('waiting feeds leave all bytes to other requests, and feeds being read take their share', async () => {
  const { watched, budget, follow } = await openService();
  await watched.write('a');
  const streams: ByteStream[] = [];
  for (let n = 0; n < 50; n += 1) streams.push(await follow('/db/_changes?feed=continuous&since=now&heartbeat=60000'));
  expect(budget.used).toBe(50 * 262_144);
  const pulls = streams.map((stream) => stream.pull());
  await vi.waitFor(() => expect(budget.used).toBe(0), patient);
  for (const stream of streams) await stream.cancel();
  await Promise.all(pulls);
});

test.each([...live, 'normal'])('HEAD and an invalid request of a %s feed hold nothing', async (feed) => {
  const { watched, budget, ask } = await openService();
  expect(await ask(`/db/_changes?feed=${feed}`, { method: 'HEAD' })).toMatchObject({ status: 200, body: null });
  for (const parameters of ['since=x', 'filter=_nonsense', 'filter=_doc_ids']) {
    expect((await ask(`/db/_changes?feed=${feed}&${parameters}`)).status).toBe(400);
  }
  expect((await ask(`/other/_changes?feed=${feed}`)).status).toBe(404);
  expect([watched.held, budget.used]).toEqual([none, 0]);
});

test('a changes feed answered with 304 holds nothing', async () => {
  const { watched, budget, ask } = await openService();
  const first = await ask('/db/_changes');
  const tag = first.headers['etag'] ?? '';
  const again = await ask('/db/_changes', { headers: { ...JSON_HEADERS, 'if-none-match': tag } });
  expect([first.status, again.status, watched.held, budget.used]).toEqual([200, 304, none, 0]);
});

test('a long normal feed is released at its end, and when its client stops reading', async () => {
  const { watched, budget, follow } = await openService();
  const docs = Array.from({ length: 3_000 }, (_, n) => `document-${n}`);
  await watched.write(...docs);
  const whole = await follow('/db/_changes');
  expect(watched.held).toEqual({ leases: 1, snapshots: 1 });
  await readAll(whole, '"last_seq":3000');
  expect(await whole.pull()).toBeUndefined();
  expect([watched.held, budget.used]).toEqual([none, 0]);
  const part = await follow('/db/_changes');
  await part.pull();
  await part.cancel();
  expect([watched.held, budget.used]).toEqual([none, 0]);
});

test.each(live)('a %s feed that is aborted releases what it took', async (feed) => {
  const { watched, budget, follow } = await openService();
  await watched.write('a');
  watched.hooks.beforeRows = () => Promise.reject(new Error('unexpected'));
  const stream = await follow(`/db/_changes?feed=${feed}`);
  await expect(readAll(stream, 'last_seq')).rejects.toThrow('unexpected');
  expect([watched.held, budget.used]).toEqual([none, 0]);
});

test('feeds of database events hold memory only while they send', async () => {
  const { watched, budget, follow } = await openService();
  const stream = await follow('/_db_updates?feed=continuous');
  expect(new TextDecoder().decode(await stream.pull())).toBe('\n');
  const event = stream.pull();
  await vi.waitFor(() => expect(budget.used).toBe(0), patient);
  await watched.write('a');
  expect(new TextDecoder().decode(await event)).toBe('{"db_name":"db","ok":true,"type":"updated"}\n');
  const last = stream.pull();
  await stream.cancel();
  expect([await last, budget.used]).toEqual([undefined, 0]);
});

test('feeds leave no timer', async () => {
  const { watched, follow } = await openService();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const timers = noteTimers(/\/src\/(database\/changes|http)\//);
  for (const parameters of ['feed=continuous&heartbeat=5000', 'feed=continuous', 'feed=longpoll', 'feed=eventsource']) {
    const stream = await follow(`/db/_changes?since=now&${parameters}`);
    await stream.pull();
    const next = stream.pull();
    await vi.waitFor(() => expect(watched.held).toEqual(none), patient);
    await stream.cancel();
    await next;
  }
  expect(timers.running).toEqual([]);
});
