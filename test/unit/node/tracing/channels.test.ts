import { tracingChannel } from 'node:diagnostics_channel';
import { afterEach, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../../src/node/server/server.ts';

type Heard = readonly [event: string, message: Readonly<Record<string, unknown>>];

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function start(): Promise<RunningServer> {
  const server = await startServer({ port: 0, memory: true, logLevel: 'none' });
  cleanups.push(() => server.close());
  return server;
}

function hear(name: string): { heard: Heard[]; ended: (count: number) => Promise<void> } {
  const heard: Heard[] = [];
  let check = () => {};
  const note = (event: string) => (message: unknown) => {
    heard.push([event, { ...Object(message) }]);
    check();
  };
  const channel = tracingChannel(name);
  const subscribers = {
    start: note('start'),
    end: note('end'),
    asyncStart: note('asyncStart'),
    asyncEnd: note('asyncEnd'),
    error: note('error'),
  };
  channel.subscribe(subscribers);
  cleanups.push(() => channel.unsubscribe(subscribers));
  const ended = (count: number) =>
    new Promise<void>((resolve) => {
      check = () => heard.filter(([event]) => event === 'asyncEnd').length >= count && resolve();
      check();
    });
  return { heard, ended };
}

test('a request is published from its head until its response has been sent', async () => {
  const { url } = await start();
  const { heard, ended } = hear('settee:request');
  await (await fetch(`${url}missing?key=secret`, { method: 'POST', body: '{"secret":1}' })).text();
  await ended(1);
  expect(heard.map(([event]) => event)).toEqual(['start', 'end', 'asyncStart', 'asyncEnd']);
  const begin = {
    id: expect.stringMatching(/^[0-9a-f]{16}$/),
    method: 'POST',
    path: '/missing',
    database: 'missing',
    peer: null,
    trace: undefined,
    isTraceTrusted: true,
  };
  expect(heard[0]?.[1]).toEqual(begin);
  expect(heard[3]?.[1]).toEqual({ ...begin, status: 404, bytes: expect.any(Number), user: null, isAborted: false });
  expect(JSON.stringify(heard)).not.toContain('secret');
});

test('a subscriber to the start may say to which trace a request belongs', async () => {
  const { url } = await start();
  const channel = tracingChannel<{ trace: unknown }>('settee:request');
  const subscribers = {
    start: (message: { trace: unknown }) => {
      message.trace = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), flags: 1 };
    },
    end: () => {},
    asyncStart: () => {},
    asyncEnd: () => {},
    error: () => {},
  };
  channel.subscribe(subscribers);
  cleanups.push(() => channel.unsubscribe(subscribers));
  const response = await fetch(`${url}_up`);
  expect(response.headers.get('traceresponse')).toBe(`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`);
});

test('updates of indexes and compactions are published', async () => {
  const { url } = await start();
  const views = hear('settee:view-update');
  const compactions = hear('settee:compaction');
  await fetch(`${url}db`, { method: 'PUT' });
  await fetch(`${url}db/_design/d`, { method: 'PUT', body: '{"views":{"v":{"map":"function (doc) { emit(1); }"}}}' });
  await fetch(`${url}db/doc`, { method: 'PUT', body: '{}' });
  await (await fetch(`${url}db/_design/d/_view/v`)).text();
  await fetch(`${url}db/_compact`, { method: 'POST', headers: { 'content-type': 'application/json' } });
  await Promise.all([views.ended(1), compactions.ended(1)]);
  expect(views.heard.find(([event]) => event === 'asyncEnd')?.[1]).toMatchObject({
    database: 'db',
    designDocument: '_design/d',
  });
  const updates = views.heard
    .filter(([event]) => event === 'asyncEnd')
    .map(([, { totalChanges }]) => Number(totalChanges));
  expect(Math.max(...updates)).toBeGreaterThan(0);
  expect(compactions.heard[0]).toMatchObject(['start', { database: 'db' }]);
});

test('replications are published with what they have done, without credentials', async () => {
  const { url } = await start();
  const other = await start();
  const { heard, ended } = hear('settee:replication');
  await fetch(`${url}db`, { method: 'PUT' });
  await fetch(`${url}db/doc`, { method: 'PUT', body: '{}' });
  await fetch(`${other.url}db`, { method: 'PUT' });
  const target = `${other.url.replace('//', '//ana:secret@')}db`;
  const body = JSON.stringify({ source: 'db', target });
  // There is no such user: the target refuses.
  await (
    await fetch(`${url}_replicate`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  ).text();
  await (
    await fetch(`${url}_replicate`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ source: 'db', target: `${other.url}db` }),
    })
  ).text();
  await ended(1);
  const done = heard.filter(([event]) => event === 'asyncEnd').map(([, message]) => message);
  expect(done.at(-1)).toMatchObject({
    source: 'db',
    target: `${other.url}db/`,
    continuous: false,
    docsWritten: 1,
    error: undefined,
  });
  expect(JSON.stringify(heard)).not.toContain('secret');
});
