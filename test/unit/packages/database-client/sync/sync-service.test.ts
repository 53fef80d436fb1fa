/** `sync()` with two services: the one of a device, and a server on a network that the device has, or has not. */
import { describe, expect, test } from 'vitest';
import { createFetch } from '../../../../../src/http/fetch-adapter.ts';
import type { Fetch } from '../../../../../src/packages/database-client/contract.ts';
import {
  type Database,
  database,
  type Sync,
  type SyncOptions,
  sync,
} from '../../../../../src/packages/database-client/index.ts';
import { patient } from '../../../../support/patience.ts';
import { Service, useServices } from '../../../replication/documents/support.ts';
import { closing, recordEvents, until } from './support.ts';

useServices();

interface Note {
  readonly text: string;
}

class World {
  readonly server: Service;
  readonly device: Service;
  readonly notes: Database<Note>;

  private constructor(server: Service, device: Service) {
    this.server = server;
    this.device = device;
    const fetch: Fetch = (address, init) => createFetch(device.core.handle)(new Request(address, init));
    this.notes = database<Note>(fetch, 'http://device.test/notes');
  }

  /** What the network does instead of reaching the server. */
  static fault: (() => Response) | undefined;

  static async open(): Promise<World> {
    World.fault = undefined;
    const server = await Service.start();
    await server.must('PUT /notes');
    await server.must('PUT /notes/there', { text: 'server' });
    const network = {
      fetch: async (...request: ConstructorParameters<typeof Request>) =>
        World.fault?.() ?? createFetch(server.core.handle)(new Request(...request)),
    };
    return new World(server, await Service.start({}, undefined, network));
  }

  sync(options?: SyncOptions): Sync {
    return closing(sync(this.notes, 'http://server.test/notes', options));
  }

  async revisions(): Promise<unknown> {
    const { rows } = Object(await this.device.must('GET /_replicator/_all_docs'));
    return rows;
  }
}

function unreachable(): Response {
  throw new TypeError('fetch failed', {
    cause: Object.assign(new Error('getaddrinfo ENOTFOUND server.test'), { code: 'ENOTFOUND' }),
  });
}

const copiedOne = {
  ...{ state: 'paused', docs_read: 1, docs_written: 1, doc_write_failures: 0, pending: 0 },
  ...{ refused_count: 0, refused: [], replication_id: expect.stringMatching(/^[0-9a-f]{32}\+continuous$/) },
};

test('copies both ways, with each change, and says so', async () => {
  const world = await World.open();
  await world.notes.create();
  await world.notes.put({ _id: 'here', text: 'device' });
  const both = world.sync();
  const events = recordEvents(both);
  const isDone = (count: number) =>
    until(
      both,
      ({ state, push, pull }) => state === 'paused' && [push, pull].every((one) => one?.docs_written === count),
    );
  expect(await isDone(1)).toEqual({ state: 'paused', push: copiedOne, pull: copiedOne });
  expect(await world.notes.get('there')).toMatchObject({ text: 'server' });
  expect(await world.server.must('GET /notes/here')).toMatchObject({ text: 'device' });
  // What is pulled is a change here, which may make the other direction active for a moment.
  expect([...new Set(events)].filter((event) => !event.startsWith('active')).sort()).toEqual([
    'change pull',
    'change push',
    'paused pull',
    'paused push',
  ]);
  await world.notes.put({ _id: 'later', text: 'device' });
  await world.server.must('PUT /notes/too', { text: 'server' });
  await isDone(2);
});

test('is not started again by a second object, which sees the same, and ends for both', async () => {
  const world = await World.open();
  const first = world.sync();
  await until(first, ({ state }) => state === 'paused');
  const before = await world.revisions();
  const second = world.sync();
  await second.ready;
  expect(await world.revisions()).toEqual(before);
  const { pull } = await until(second, ({ state }) => state === 'paused');
  expect(pull).toMatchObject({ docs_written: 1, replication_id: first.status().pull?.replication_id });
  const isStopped = until(second, ({ state }) => state === 'stopped');
  await first.stop();
  await isStopped;
  expect(await world.revisions()).toEqual([]);
  await expect.poll(() => world.device.must('GET /_scheduler/jobs'), patient).toMatchObject({ jobs: [] });
});

test('takes over changed options while it runs', async () => {
  const world = await World.open();
  await until(world.sync({ selector: { text: 'none' } }), ({ state }) => state === 'paused');
  expect(await world.notes.get('there')).toBeUndefined();
  const changed = world.sync({ selector: { text: 'server' } });
  await until(changed, ({ state, pull }) => state === 'paused' && pull?.docs_written === 1);
  expect(await world.notes.get('there')).toMatchObject({ text: 'server' });
});

test('names each document that the server refuses, and copies it when it may', async () => {
  const world = await World.open();
  const rule = "function (doc) { if (!doc.text) throw({ forbidden: 'A note needs a text.' }); }";
  const { rev } = await world.server.must('PUT /notes/_design/rules', { validate_doc_update: rule });
  const both = world.sync();
  const denials: unknown[] = [];
  both.addEventListener('denied', ({ detail }) => denials.push(detail));
  await both.ready;
  await world.notes.put({ _id: 'empty', text: '' });
  const { push } = await until(both, ({ state }) => state === 'denied');
  const refused = {
    id: 'empty',
    rev: expect.stringMatching(/^1-/),
    error: 'forbidden',
    reason: 'A note needs a text.',
  };
  expect(push).toMatchObject({ state: 'denied', doc_write_failures: 1, refused_count: 1, refused: [refused] });
  expect(denials).toEqual([{ ...refused, direction: 'push' }]);
  await world.server.must(`DELETE /notes/_design/rules?rev=${String(rev)}`);
  await both.retry();
  await until(both, ({ state }) => state === 'paused');
  expect(await world.server.must('GET /notes/empty')).toMatchObject({ text: '' });
});

test('no longer names a document that was corrected', async () => {
  const world = await World.open();
  const rule = "function (doc) { if (!doc.text) throw({ forbidden: 'A note needs a text.' }); }";
  await world.server.must('PUT /notes/_design/rules', { validate_doc_update: rule });
  const both = world.sync();
  await both.ready;
  await world.notes.put({ _id: 'empty', text: '' });
  await world.notes.put({ _id: 'other', text: '' });
  await until(both, ({ push }) => push?.refused_count === 2);
  await world.notes.update('empty', () => ({ text: 'full' }));
  const { push } = await until(both, ({ push }) => push?.refused_count === 1);
  expect(push).toMatchObject({ refused: [{ id: 'other' }] });
  await world.notes.update('other', () => ({ text: 'full' }));
  expect(await until(both, ({ state }) => state === 'paused')).toMatchObject({
    push: { refused_count: 0, refused: [] },
  });
});

describe('while the server', () => {
  test("can't be reached, it is offline, and continues when it is asked to", async () => {
    const world = await World.open();
    World.fault = unreachable;
    const both = world.sync();
    const events = recordEvents(both);
    const { pull } = await until(both, ({ push, pull }) => [push, pull].every((one) => one?.state === 'offline'));
    expect(pull).toMatchObject({
      last_error: {
        error: 'offline',
        reason: "http://server.test/notes can't be reached: getaddrinfo ENOTFOUND server.test",
      },
      next_attempt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+Z$/),
    });
    expect(events).toEqual(expect.arrayContaining(['offline push', 'offline pull']));
    expect(events.filter((event) => /^(error|unauthorized)/.test(event))).toEqual([]);
    World.fault = undefined;
    await both.retry();
    await until(both, ({ state, pull }) => state === 'paused' && pull?.docs_written === 1);
  });

  test('does not accept the credentials, it says so', async () => {
    const world = await World.open();
    World.fault = () =>
      new Response('{"error":"unauthorized","reason":"Name or password is incorrect."}', { status: 401 });
    const both = world.sync();
    const { push } = await until(both, ({ state }) => state === 'unauthorized');
    expect(push?.last_error).toMatchObject({ error: 'unauthorized' });
    World.fault = undefined;
    await both.retry();
    await until(both, ({ state }) => state === 'paused');
  });
});

test('is complete when it copies once, and copies again when it is called again', async () => {
  const world = await World.open();
  const once = world.sync({ live: false });
  const completed = new Promise((resolve) => {
    once.addEventListener('complete', ({ detail }) => resolve(detail.state), { once: true });
  });
  expect(await completed).toBe('complete');
  expect(await world.notes.get('there')).toMatchObject({ text: 'server' });
  await world.server.must('PUT /notes/more', { text: 'server' });
  await until(world.sync({ live: false }), ({ state, pull }) => state === 'complete' && pull?.docs_written === 1);
  expect(await world.notes.get('more')).toMatchObject({ text: 'server' });
});
