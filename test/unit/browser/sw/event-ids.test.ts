import { expect, test, vi } from 'vitest';
import type { ByteStream, PlainRequest } from '../../../../src/base/shared/message.ts';
import { BrokenOff, EventIds } from '../../../../src/browser/sw/event-ids.ts';

const url = 'https://app.example/db/notes/_changes?feed=eventsource&since=now';

function request(headers: Readonly<Record<string, string>> = {}): PlainRequest {
  return { method: 'GET', url, headers: { accept: 'text/event-stream', ...headers }, body: null };
}

/** Follows an answer with those chunks, and gives its body. */
function follow(ids: EventIds, chunks: readonly (string | Error)[], type = 'text/event-stream'): ByteStream {
  const left = [...chunks];
  const body: ByteStream = {
    pull: async () => {
      const chunk = left.shift();
      if (chunk instanceof Error) throw chunk;
      return chunk === undefined ? undefined : new TextEncoder().encode(chunk);
    },
    cancel: async () => undefined,
  };
  const followed = ids.follow('page', url, { status: 200, headers: { 'content-type': type }, body }).body;
  if (typeof followed !== 'object' || followed === null || !('pull' in followed)) throw new Error('no stream');
  return followed;
}

async function readAll(body: ByteStream): Promise<void> {
  while ((await body.pull()) !== undefined);
}

const lastId = (ids: EventIds, client = 'page') => ids.addTo(client, request()).headers['last-event-id'];

test('an event source continues after the last complete event of a body that ended, once', async () => {
  const ids = new EventIds();
  await readAll(follow(ids, ['data: 1\nid: 7\n', '\ndata: 2\nid: 1', '2\n\nda', 'ta: 3\nid: 13\n']));
  expect(lastId(ids, 'other page')).toBeUndefined();
  expect(lastId(ids)).toBe('12');
  expect(lastId(ids)).toBeUndefined();
});

test.for([
  ['an id without data', ['id: 5\n\n'], '5'],
  ['no event', ['\n', '\n'], undefined],
  ['an id that is taken back', ['data: 1\nid: 5\n\n', 'id:\n\n'], undefined],
  ['an event without an id', ['data: "id: 3"\n\n'], undefined],
] as const)('the last event id is found: %s', async ([, chunks, expected]) => {
  const ids = new EventIds();
  await readAll(follow(ids, chunks));
  expect(lastId(ids)).toBe(expected);
});

test('an event source continues after a body that failed or was cut', async () => {
  const ids = new EventIds();
  await expect(readAll(follow(ids, ['id: 1\n\n', new Error('the owner is gone')]))).rejects.toThrow();
  expect(lastId(ids)).toBe('1');
  const body = follow(ids, ['id: 2\n\n']);
  await body.pull();
  await body.cancel(new BrokenOff('drained'));
  expect(lastId(ids)).toBe('2');
});

test('the ids of a body that the page closed while it waited are forgotten', async () => {
  const ids = new EventIds();
  let end = (_: undefined) => {};
  const chunks = [
    Promise.resolve(new TextEncoder().encode('id: 2\n\n')),
    new Promise<undefined>((resolve) => (end = resolve)),
  ];
  const body: ByteStream = { pull: async () => chunks.shift(), cancel: async () => end(undefined) };
  const answer = { status: 200, headers: { 'content-type': 'text/event-stream' }, body };
  const followed = ids.follow('page', url, answer).body as ByteStream;
  await followed.pull();
  const waiting = followed.pull();
  await followed.cancel();
  await waiting;
  expect(lastId(ids)).toBeUndefined();
});

test('the ids of a closed body, and those that are five minutes old, are forgotten', async () => {
  const ids = new EventIds();
  const body = follow(ids, ['id: 2\n\n']);
  await body.pull();
  await body.cancel();
  expect(lastId(ids)).toBeUndefined();
  vi.useFakeTimers({ toFake: ['Date'] });
  await readAll(follow(ids, ['id: 3\n\n']));
  vi.setSystemTime(Date.now() + 300_000);
  expect(lastId(ids)).toBeUndefined();
  vi.useRealTimers();
});

test('only events that the browser received count, and other requests and responses are unchanged', async () => {
  const ids = new EventIds();
  await readAll(follow(ids, ['id: 3\n\n']));
  const plain = request({ accept: '*/*' });
  expect(ids.addTo('page', plain)).toBe(plain);
  expect(ids.addTo('page', request({ 'last-event-id': '1' })).headers['last-event-id']).toBe('1');
  await readAll(follow(ids, ['id: 3\n\n'], 'application/json'));
  expect(lastId(ids)).toBeUndefined();
});

test('event ids are passed to the new version that takes over', async () => {
  const before = new EventIds();
  await readAll(follow(before, ['id: 3\n\n']));
  const after = new EventIds();
  after.takeOver(structuredClone(before.entries));
  expect(lastId(after)).toBe('3');
});
