import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { PlainRequest, PlainResponse, RequestBody } from '../../../../src/base/shared/message.ts';
import { channelName } from '../../../../src/browser/bridge/instance.ts';
import { type CreateLinkOptions, createLink } from '../../../../src/browser/bridge/link/owner-link.ts';
import { PROTOCOL, type ToAll, type ToOwner } from '../../../../src/browser/bridge/wire.ts';
import { FakeLocks } from '../../../support/fake-locks.ts';
import {
  bytes,
  messagesArrived,
  newInstance,
  readAll,
  reasonOf,
  ScriptedOwner,
  sourceOf,
  streamOf,
  text,
  until,
} from './support.ts';

let table = new FakeLocks();
let instance = newInstance();
let ends: (() => void)[] = [];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
  table = new FakeLocks();
  instance = newInstance();
});

afterEach(() => {
  for (const end of ends) end();
  ends = [];
  vi.useRealTimers();
});

function newLink(options: Partial<CreateLinkOptions> = {}) {
  const link = createLink({ instance, carrier: 'tab', locks: table.client(), ...options });
  ends.push(() => link.close());
  return link;
}

/** One that has the locks and has said so. */
async function newOwner(options?: LockOptions): Promise<ScriptedOwner> {
  const owner = await waitingOwner().rise(options);
  owner.announce();
  await messagesArrived();
  return owner;
}

/** One that has no locks yet. */
function waitingOwner(): ScriptedOwner {
  const owner = new ScriptedOwner(instance, table);
  ends.push(() => owner.close());
  return owner;
}

interface Asked {
  readonly body?: RequestBody;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

function request(what: string, { headers = {}, body = null, signal }: Asked = {}): PlainRequest {
  const [method = '', path = ''] = what.split(' ');
  const plain = { method, url: `${instance.base}${path}`, headers, body };
  return signal === undefined ? plain : { ...plain, signal };
}

const never: Promise<PlainResponse> = new Promise(() => {});

async function pass(ms: number): Promise<void> {
  await messagesArrived();
  for (let passed = 0; passed < ms; passed += 500) {
    vi.advanceTimersByTime(Math.min(500, ms - passed));
    await messagesArrived();
  }
}

/** All that is said to everybody. */
function listenToAll(): ToAll[] {
  const heard: ToAll[] = [];
  const all = new BroadcastChannel(channelName(instance));
  all.onmessage = ({ data }: MessageEvent<ToAll>) => heard.push(data);
  ends.push(() => all.close());
  return heard;
}

describe('a request', () => {
  test('is answered by the owner that the locks name', async () => {
    const owner = await newOwner();
    owner.answering = ({ method, url, headers, body }) => ({
      status: 201,
      headers: { etag: '"1-a"' },
      body: JSON.stringify([method, url, headers, body]),
    });
    const link = newLink();
    const headers = { 'content-type': 'application/json' };
    expect(await link.handle(request('PUT notes/a?x=%2F', { headers, body: '{"a":1}' }))).toEqual({
      status: 201,
      headers: { etag: '"1-a"' },
      body: JSON.stringify(['PUT', `${instance.base}notes/a?x=%2F`, headers, '{"a":1}']),
    });
  });

  test('waits for an owner, and is sent to the one that announces itself', async () => {
    const link = newLink();
    const answer = link.handle(request('PUT notes/a', { body: '{}' }));
    await messagesArrived();
    const owner = await newOwner();
    expect((await answer).body).toBe(owner.id);
    expect(owner.requests).toEqual(['PUT notes/a']);
  });

  test('finds an owner whose announcement it missed', async () => {
    const link = newLink();
    const answer = link.handle(request('GET notes/a'));
    await messagesArrived();
    const owner = await waitingOwner().rise();
    await pass(500);
    expect((await answer).body).toBe(owner.id);
  });

  test('is answered 503 when no owner appears within 15 s', async () => {
    const upload = sourceOf([bytes(1)]);
    const answer = newLink().handle(request('PUT notes/a', { body: upload }));
    await pass(14_500);
    let isSettled = false;
    void answer.then(() => {
      isSettled = true;
    });
    await messagesArrived();
    expect(isSettled).toBe(false);
    await pass(500);
    expect(reasonOf(await answer)).toBe('No tab offered the database within 15 s; try again');
    expect(upload.cancelled).toMatch(/^No tab offered/);
  });

  test('that is a HEAD is answered 503 without a body', async () => {
    const answer = newLink().handle(request('HEAD notes/a'));
    await pass(15_000);
    expect(await answer).toMatchObject({ status: 503, body: null });
  });

  test('needs no query of the lock manager once the owner is known', async () => {
    await newOwner();
    const locks = table.client();
    const query = vi.spyOn(locks, 'query');
    const ask = vi.spyOn(locks, 'request');
    const link = newLink({ locks });
    await link.handle(request('GET notes/a'));
    const before = [query.mock.calls.length, ask.mock.calls.length];
    for (let count = 0; count < 20; count++) await link.handle(request('GET notes/a'));
    expect([query.mock.calls.length, ask.mock.calls.length]).toEqual(before);
    expect(ask).toHaveBeenCalledTimes(1);
  });

  test('gets its own answer among a thousand simultaneous ones', async () => {
    const owner = await newOwner();
    owner.answering = async ({ url }) => {
      // Out of order.
      if (url.endsWith('3')) await messagesArrived();
      return { status: 200, headers: {}, body: url };
    };
    const link = newLink();
    const paths = Array.from({ length: 1000 }, (_, index) => `GET notes/${index}`);
    const answers = await Promise.all(paths.map((path) => link.handle(request(path))));
    expect(answers.map(({ body }) => body)).toEqual(
      Array.from({ length: 1000 }, (_, index) => `${instance.base}notes/${index}`),
    );
    expect(owner.requests).toHaveLength(1000);
  });

  test('that never reached the owner is sent once more, even a write', async () => {
    const owner = await newOwner();
    owner.misses = 1;
    // The second answer to a ping is about a sending that is history by then.
    owner.pongs = 2;
    const answer = newLink().handle(request('POST notes', { body: '{}' }));
    await messagesArrived();
    expect(owner.requests).toEqual([]);
    await pass(1000);
    expect((await answer).body).toBe(owner.id);
    await pass(3000);
    expect(owner.requests).toEqual(['POST notes']);
  });

  test('of each of two links gets its own answer', async () => {
    const owner = await newOwner();
    owner.answering = ({ url }) => ({ status: 200, headers: {}, body: url });
    const [one, two] = [newLink(), newLink({ carrier: 'service-worker' })];
    const answers = await Promise.all([one.handle(request('GET a')), two.handle(request('GET b'))]);
    expect(answers.map(({ body }) => body)).toEqual([`${instance.base}a`, `${instance.base}b`]);
  });

  test('names the kind of client that carries it', async () => {
    const owner = await newOwner();
    const seen: string[] = [];
    const inbox = new BroadcastChannel(channelName(instance, owner.id));
    ends.push(() => inbox.close());
    inbox.onmessage = ({ data }: MessageEvent<ToOwner>) => {
      if (data.kind === 'request') seen.push(data.carrier);
    };
    await newLink({ carrier: 'service-worker' }).handle(request('GET a'));
    await newLink({ carrier: 'tab' }).handle(request('GET a'));
    await until(() => seen.length === 2);
    expect(seen).toEqual(['service-worker', 'tab']);
  });
});

describe('a body', () => {
  test('that is a stream is sent up, and the response down', async () => {
    const owner = await newOwner();
    const chunks = Array.from({ length: 20 }, (_, index) => new Uint8Array(10_000).fill(index));
    owner.answering = async ({ body }) => ({ status: 200, headers: {}, body: streamOf(body) });
    const link = newLink();
    const source = sourceOf(chunks, { length: 200_000 });
    const { body } = await link.handle(request('PUT notes/a/file', { body: source }));
    expect(await readAll(streamOf(body))).toEqual(chunks.flatMap((chunk) => [...chunk]));
  });

  test.each([
    ['bytes', new Uint8Array(1_500_000)],
    ['text', 'x'.repeat(1_500_000)],
  ])('of 1.5 MB of %s is sent as a Blob, so that no listener gets a copy', async (_kind, large) => {
    const owner = await newOwner();
    let size = 0;
    owner.answering = ({ body }) => {
      if (body instanceof Blob) size = body.size;
      return { status: 201, headers: {}, body: null };
    };
    await newLink().handle(request('PUT notes/a/file', { body: large }));
    expect(size).toBe(1_500_000);
  });

  test('of a lost owner fails, and never just ends', async () => {
    const owner = await newOwner();
    owner.answering = () => ({ status: 200, headers: {}, body: sourceOf([bytes(1)], { isEndless: true }) });
    const { body } = await newLink().handle(request('GET notes/_changes'));
    const stream = streamOf(body);
    expect(await stream.pull()).toEqual(bytes(1));
    const failing = expect(stream.pull()).rejects.toThrow('was closed or stopped answering');
    owner.die();
    await pass(100);
    await failing;
  });

  test('that its reader abandons is cancelled at the owner', async () => {
    const owner = await newOwner();
    const source = sourceOf([bytes(1)], { isEndless: true });
    owner.answering = () => ({ status: 200, headers: {}, body: source });
    const { body } = await newLink().handle(request('GET notes/_changes'));
    await streamOf(body).cancel('seen enough');
    await until(() => source.cancelled === 'seen enough');
  });

  test('that is a small stream is sent again like text', async () => {
    const [owner, next] = [await newOwner(), waitingOwner()];
    owner.isFrozen = true;
    const rising = next.rise();
    const body = sourceOf([bytes(123, 125)], { length: 2 });
    const answer = newLink().handle(request('POST notes/_find', { body }));
    await until(() => owner.requests.length === 1);
    next.answering = ({ body: came }) => ({ status: 200, headers: {}, body: came instanceof Uint8Array ? came : null });
    owner.die();
    await rising;
    next.announce();
    expect((await answer).body).toEqual(bytes(123, 125));
  });
});

describe('when an owner is lost', () => {
  test('its reads are carried out once by the next owner', async () => {
    const [owner, next] = [await newOwner(), waitingOwner()];
    owner.answering = () => never;
    const rising = next.rise();
    const link = newLink();
    const asked = ['GET notes/a', 'HEAD notes/a', 'POST notes/_all_docs'];
    const answers = asked.map((what) => link.handle(request(what, what.startsWith('POST') ? { body: '{}' } : {})));
    await until(() => owner.requests.length === 3);
    owner.die();
    await rising;
    next.announce();
    expect((await Promise.all(answers)).map(({ body }) => body)).toEqual([next.id, next.id, next.id]);
    expect(next.requests).toEqual(asked);
    await pass(5000);
    expect(next.requests).toHaveLength(3);
  });

  test('its writes have an unknown outcome: they are answered 503 soon, and never sent again', async () => {
    const [owner, next] = [await newOwner(), waitingOwner()];
    owner.answering = () => never;
    const rising = next.rise();
    const answer = newLink().handle(request('PUT notes/a', { body: '{}' }));
    await until(() => owner.requests.length === 1);
    owner.die();
    await pass(100);
    expect(reasonOf(await answer)).toMatch(/may have been carried out or not; read before you write again/);
    await rising;
    next.announce();
    await pass(2000);
    expect(next.requests).toEqual([]);
  });

  test('writes that arrive later are not lost with it', async () => {
    const owner = await newOwner();
    const link = newLink();
    await link.handle(request('GET notes/a'));
    owner.die();
    await messagesArrived();
    const answer = link.handle(request('PUT notes/a', { body: '{}' }));
    const next = await newOwner();
    expect((await answer).body).toBe(next.id);
  });

  test('a read with a partly sent stream is answered 503, and the stream is cancelled', async () => {
    const owner = await newOwner();
    owner.answering = async ({ body }) => {
      await streamOf(body).pull();
      return never;
    };
    const source = sourceOf([bytes(1)], { isEndless: true });
    const answer = newLink().handle(request('POST notes/_find', { body: source }));
    await until(() => source.pulls > 1);
    owner.die();
    await pass(100);
    expect(reasonOf(await answer)).toMatch(/send it again$/);
    await until(() => source.cancelled !== undefined);
  });

  test('a stream that it did not begin to read is not lost', async () => {
    const [owner, next] = [await newOwner(), waitingOwner()];
    owner.answering = () => never;
    const rising = next.rise();
    const source = sourceOf([bytes(1), bytes(2)]);
    const answer = newLink().handle(request('POST notes/_find', { body: source }));
    await until(() => owner.requests.length === 1);
    next.answering = async ({ body }) => ({
      status: 200,
      headers: {},
      body: String(await readAll(streamOf(body))),
    });
    owner.die();
    await rising;
    await pass(100);
    expect(source.cancelled).toBeUndefined();
    next.announce();
    expect((await answer).body).toBe('1,2');
  });

  test('a read that was lost with three owners is not sent to a fourth', async () => {
    const link = newLink();
    let answer = never;
    for (const round of [1, 2, 3]) {
      const owner = waitingOwner();
      owner.answering = () => never;
      await owner.rise();
      owner.announce();
      if (round === 1) answer = link.handle(request('GET notes/a'));
      await until(() => owner.requests.length === 1);
      owner.die();
      await pass(100);
    }
    expect(reasonOf(await answer)).toMatch(/send it again$/);
  });
});

describe('the last message of an owner', () => {
  test('counts even if its locks are already free', async () => {
    const owner = await newOwner();
    let finish: (response: PlainResponse) => void = () => {};
    owner.answering = () =>
      new Promise((resolve) => {
        finish = resolve;
      });
    const answer = newLink().handle(request('PUT notes/a', { body: '{}' }));
    await until(() => owner.requests.length === 1);
    owner.locks.kill();
    await pass(50);
    finish({ status: 201, headers: {}, body: 'done' });
    expect((await answer).body).toBe('done');
  });

  test('can be that it did not begin a write, which is then sent to the next owner', async () => {
    const owner = await newOwner();
    owner.answering = async () => {
      await messagesArrived();
      return never;
    };
    const answer = newLink().handle(request('PUT notes/a', { body: '{}' }));
    await until(() => owner.requests.length === 1);
    owner.locks.kill();
    await messagesArrived();
    owner.refuseAll();
    await messagesArrived();
    const next = await newOwner();
    expect((await answer).body).toBe(next.id);
  });

  test('can be the end of a body', async () => {
    const owner = await newOwner();
    owner.answering = () => ({ status: 200, headers: {}, body: sourceOf([bytes(1), bytes(2)]) });
    const { body } = await newLink().handle(request('GET notes/_all_docs'));
    owner.locks.kill();
    await messagesArrived();
    expect(await readAll(streamOf(body))).toEqual([1, 2]);
  });
});

describe('an owner that is silent', () => {
  test('is pinged after a second, and suspected after three pings', async () => {
    const [owner, heard] = [await newOwner(), listenToAll()];
    owner.isFrozen = true;
    const link = newLink();
    void link.handle(request('GET notes/a'));
    await until(() => owner.requests.length === 1);
    await pass(500);
    expect(owner.pings).toBe(0);
    await pass(500);
    expect(owner.pings).toBe(1);
    await pass(1000);
    expect([owner.pings, heard]).toEqual([3, []]);
    await pass(500);
    expect(heard).toEqual([{ protocol: PROTOCOL, from: expect.any(String), kind: 'suspect', owner: owner.id }]);
  });

  test('is not suspected while it answers pings', async () => {
    const [owner, heard] = [await newOwner(), listenToAll()];
    owner.answering = () => never;
    void newLink().handle(request('GET notes/a'));
    await pass(60_000);
    expect(owner.pings).toBeGreaterThan(20);
    expect(heard).toEqual([]);
  });

  test('is not pinged by a link without open requests', async () => {
    const owner = await newOwner();
    const link = newLink();
    await link.handle(request('GET notes/a'));
    await pass(10_000);
    expect(owner.pings).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('gets the full time again for each request', async () => {
    const [owner, heard] = [await newOwner(), listenToAll()];
    owner.isFrozen = true;
    const link = newLink();
    const controller = new AbortController();
    const first = link.handle(request('GET notes/a', { signal: controller.signal }));
    await until(() => owner.requests.length === 1);
    await pass(2000);
    controller.abort();
    await expect(first).rejects.toThrow();
    void link.handle(request('GET notes/b'));
    await pass(2000);
    expect(heard).toEqual([]);
  });

  test('is suspected while a body of it is open', async () => {
    const [owner, heard] = [await newOwner(), listenToAll()];
    owner.answering = () => ({ status: 200, headers: {}, body: sourceOf([bytes(1)], { isEndless: true }) });
    const { body } = await newLink().handle(request('GET notes/_changes'));
    await streamOf(body).pull();
    owner.isFrozen = true;
    await pass(3000);
    expect(heard[0]).toMatchObject({ kind: 'suspect', owner: owner.id });
  });

  test('is lost once another owner stole the storage', async () => {
    const owner = await newOwner();
    owner.isFrozen = true;
    const link = newLink();
    const [read, write] = [link.handle(request('GET notes/a')), link.handle(request('PUT notes/b', { body: '{}' }))];
    await until(() => owner.requests.length === 2);
    await pass(3000);
    const next = await newOwner({ steal: true });
    expect((await read).body).toBe(next.id);
    await pass(100);
    expect(reasonOf(await write)).toMatch(/may have been carried out or not/);
    expect(next.requests).toEqual(['GET notes/a']);
  });

  test('that was replaced before it was suspected gets a short moment only', async () => {
    const owner = await newOwner();
    owner.isFrozen = true;
    const link = newLink();
    const read = link.handle(request('GET notes/a'));
    await until(() => owner.requests.length === 1);
    const next = await newOwner({ steal: true });
    expect(next.requests).toEqual([]);
    await pass(1500);
    expect((await read).body).toBe(next.id);
  });
});

describe('when an owner leaves', () => {
  test('requests that it refuses are sent to the next one, also writes', async () => {
    const [owner, next] = [await newOwner(), waitingOwner()];
    owner.refuses = 'leaving';
    const rising = next.rise();
    const answer = newLink().handle(request('PUT notes/a', { body: '{}' }));
    await until(() => owner.requests.length === 1);
    // Its locks are still held, and must not lead back to it.
    await pass(2000);
    expect(owner.requests).toHaveLength(1);
    owner.die();
    await rising;
    next.announce();
    expect((await answer).body).toBe(next.id);
    expect(next.requests).toEqual(['PUT notes/a']);
  });

  test('streams that it did not read are returned', async () => {
    const [owner, next] = [await newOwner(), waitingOwner()];
    owner.refuses = 'leaving';
    const rising = next.rise();
    const source = sourceOf([bytes(1), bytes(2)]);
    const answer = newLink().handle(request('PUT notes/a/file', { body: source }));
    await until(() => owner.requests.length === 1);
    next.answering = async ({ body }) => ({ status: 201, headers: {}, body: String(await readAll(streamOf(body))) });
    owner.die();
    await rising;
    await pass(100);
    expect(source.cancelled).toBeUndefined();
    next.announce();
    expect((await answer).body).toBe('1,2');
  });

  test('requests that it had begun are still answered', async () => {
    const [owner, next] = [await newOwner(), waitingOwner()];
    let finish: (response: PlainResponse) => void = () => {};
    owner.answering = () =>
      new Promise((resolve) => {
        finish = resolve;
      });
    const link = newLink();
    const answer = link.handle(request('PUT notes/a', { body: '{}' }));
    await until(() => owner.requests.length === 1);
    await next.rise({ steal: true });
    next.announce();
    await messagesArrived();
    expect((await link.handle(request('GET notes/b'))).body).toBe(next.id);
    finish({ status: 201, headers: {}, body: 'done' });
    expect((await answer).body).toBe('done');
  });
});

test('an owner that was replaced, and has no open request of the link, is forgotten', async () => {
  const owner = await newOwner();
  const link = newLink();
  await link.handle(request('GET notes/a'));
  const next = await newOwner({ steal: true });
  await link.handle(request('GET notes/b'));
  const watched = table.snapshot().pending?.map(({ name }) => name);
  expect(owner.requests).toEqual(['GET notes/a']);
  expect(watched).toEqual([`${instance.name}|alive|${next.id}`]);
});

test('the late announcement of a dead owner is ignored', async () => {
  const owner = await newOwner();
  owner.answering = () => never;
  const link = newLink();
  void link.handle(request('PUT notes/a', { body: '{}' }));
  await until(() => owner.requests.length === 1);
  owner.locks.kill();
  await messagesArrived();
  owner.announce();
  await messagesArrived();
  const answer = link.handle(request('PUT notes/b', { body: '{}' }));
  await pass(100);
  const next = await newOwner();
  expect((await answer).body).toBe(next.id);
});

describe('an owner of another version', () => {
  test.each([
    [PROTOCOL + 1, 'Another tab runs a newer version of this app and owns the database: reload this tab'],
    [PROTOCOL - 1, 'Another tab runs an older version of this app and owns the database: reload or close that tab'],
  ])('(%i) is told by name', async (protocol, reason) => {
    const owner = await waitingOwner().rise();
    owner.refuses = 'protocol';
    owner.protocol = protocol;
    owner.announce();
    expect(reasonOf(await newLink().handle(request('PUT notes/a', { body: '{}' })))).toBe(reason);
  });

  test.each([
    [PROTOCOL + 1, 1],
    [PROTOCOL, 0],
    [PROTOCOL - 1, 0],
  ])('(%i) makes the link outdated %i times, by its announcements and refusals', async (protocol, times) => {
    const onOutdated = vi.fn();
    const link = newLink({ onOutdated });
    const owner = await waitingOwner().rise();
    owner.refuses = 'protocol';
    owner.protocol = protocol;
    owner.announce();
    await messagesArrived();
    expect(onOutdated).toHaveBeenCalledTimes(times);
    await link.handle(request('PUT notes/a', { body: '{}' }));
    expect(onOutdated).toHaveBeenCalledTimes(times);
  });

  test('makes the link outdated even if its announcement was missed', async () => {
    const owner = await waitingOwner().rise();
    owner.refuses = 'protocol';
    owner.protocol = PROTOCOL + 1;
    const onOutdated = vi.fn();
    await newLink({ onOutdated }).handle(request('PUT notes/a', { body: '{}' }));
    expect(onOutdated).toHaveBeenCalledTimes(1);
  });
});

describe('when there is no owner', () => {
  test('a client that can become the owner is notified once', async () => {
    const owner = waitingOwner();
    const provideOwner = vi.fn(async () => {
      await owner.rise();
    });
    const link = newLink({ carrier: 'service-worker', provideOwner });
    const answers = await Promise.all([link.handle(request('GET a')), link.handle(request('GET b'))]);
    expect(answers.map(({ body }) => body)).toEqual([owner.id, owner.id]);
    expect(provideOwner).toHaveBeenCalledTimes(1);
  });

  test('no notification happens while a tab waits for the lock or opens its core', async () => {
    const opening = table.client();
    void opening.request(`${instance.name}|owner`, () => new Promise(() => {}));
    const provideOwner = vi.fn(async () => {});
    const link = newLink({ provideOwner });
    void link.handle(request('GET a'));
    await pass(5000);
    expect(provideOwner).not.toHaveBeenCalled();
    opening.kill();
    await pass(500);
    expect(provideOwner).toHaveBeenCalledTimes(1);
  });

  test('and none can start, the request fails with the reason after several attempts', async () => {
    const provideOwner = vi.fn(() => Promise.reject(new Error('IndexedDB is switched off')));
    const answer = newLink({ provideOwner }).handle(request('GET a'));
    await pass(15_000);
    expect(reasonOf(await answer)).toBe(
      'No tab offered the database within 15 s (IndexedDB is switched off); try again',
    );
    expect(provideOwner.mock.calls.length).toBeGreaterThan(10);
  });
});

describe('an abort', () => {
  test('reaches the owner, and rejects the request', async () => {
    const owner = await newOwner();
    owner.answering = () => never;
    const controller = new AbortController();
    const answer = newLink().handle(request('GET a', { signal: controller.signal }));
    await until(() => owner.requests.length === 1);
    controller.abort();
    await expect(answer).rejects.toMatchObject({ name: 'AbortError' });
    await until(() => owner.aborted.length === 1);
  });

  test('before the request means that it is never sent', async () => {
    const owner = await newOwner();
    await expect(newLink().handle(request('GET a', { signal: AbortSignal.abort() }))).rejects.toMatchObject({
      name: 'AbortError',
    });
    await messagesArrived();
    expect(owner.requests).toEqual([]);
  });

  test("while there is no owner means that the request isn't sent later", async () => {
    const controller = new AbortController();
    const link = newLink();
    const answer = link.handle(request('PUT a', { signal: controller.signal, body: '{}' }));
    controller.abort();
    await expect(answer).rejects.toMatchObject({ name: 'AbortError' });
    const owner = await newOwner();
    await pass(1000);
    expect(owner.requests).toEqual([]);
  });

  test('while a small body is read means that the request is never sent', async () => {
    const owner = await newOwner();
    const controller = new AbortController();
    const body = {
      length: 1,
      pull: async () => {
        if (controller.signal.aborted) return undefined;
        controller.abort();
        return bytes(1);
      },
      cancel: async () => {},
    };
    const answer = newLink().handle(request('PUT a', { signal: controller.signal, body }));
    await expect(answer).rejects.toMatchObject({ name: 'AbortError' });
    await messagesArrived();
    expect(owner.requests).toEqual([]);
  });

  test('cancels the upload, wherever it is', async () => {
    const owner = await newOwner();
    owner.answering = () => never;
    const link = newLink();
    const [sent, controller] = [sourceOf([], { isEndless: true }), new AbortController()];
    const answer = link.handle(request('PUT a', { signal: controller.signal, body: sent }));
    await until(() => owner.requests.length === 1);
    controller.abort(new Error('not any more'));
    await expect(answer).rejects.toThrow('not any more');
    expect(sent.cancelled).toBe('not any more');
  });

  test('that crosses the response leaves no body open at the owner', async () => {
    const owner = await newOwner();
    const source = sourceOf([bytes(1)], { isEndless: true });
    const controller = new AbortController();
    owner.answering = () => {
      controller.abort();
      return { status: 200, headers: {}, body: source };
    };
    const answer = newLink().handle(request('GET a', { signal: controller.signal }));
    await expect(answer).rejects.toMatchObject({ name: 'AbortError' });
    await until(() => source.cancelled !== undefined);
  });

  test('after the response does nothing', async () => {
    const owner = await newOwner();
    const controller = new AbortController();
    const unwatch = vi.spyOn(controller.signal, 'removeEventListener');
    await newLink().handle(request('GET a', { signal: controller.signal }));
    expect(unwatch).toHaveBeenCalledTimes(1);
    controller.abort();
    await messagesArrived();
    expect(owner.aborted).toEqual([]);
  });
});

describe('a link that is closed', () => {
  test('answers its open requests 503, and notifies the owner', async () => {
    const owner = await newOwner();
    owner.answering = () => never;
    const link = newLink();
    const answer = link.handle(request('GET a'));
    await until(() => owner.requests.length === 1);
    link.close();
    expect(reasonOf(await answer)).toBe('The service was closed in this page');
    await until(() => owner.aborted.length === 1);
    expect(reasonOf(await link.handle(request('GET a')))).toBe('The service is closed in this page');
    expect(vi.getTimerCount()).toBe(0);
    expect(table.snapshot().pending).toEqual([]);
  });

  test('fails the bodies it was reading, and cancels them at the owner', async () => {
    const owner = await newOwner();
    const source = sourceOf([bytes(1)], { isEndless: true });
    owner.answering = () => ({ status: 200, headers: {}, body: source });
    const link = newLink();
    const { body } = await link.handle(request('GET a'));
    link.close();
    await expect(streamOf(body).pull()).rejects.toThrow('The service was closed in this page');
    await until(() => source.cancelled === 'The service was closed in this page');
  });
});

test('the text of a response arrives as the owner sent it', async () => {
  const owner = await newOwner();
  owner.answering = () => ({ status: 404, headers: {}, body: '{"error":"not_found"}\n' });
  expect(text((await newLink().handle(request('GET a'))).body)).toBe('{"error":"not_found"}\n');
});
