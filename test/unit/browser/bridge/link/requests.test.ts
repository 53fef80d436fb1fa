import { describe, expect, test, vi } from 'vitest';
import { channelName } from '../../../../../src/browser/bridge/instance.ts';
import type { ToOwner } from '../../../../../src/browser/bridge/wire.ts';
import { bytes, messagesArrived, reasonOf, sourceOf, text, until } from '../support.ts';
import { ends, instance, newLink, newOwner, pass, request, table, useLinks, waitingOwner } from './links.ts';

useLinks();

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

test('the text of a response arrives as the owner sent it', async () => {
  const owner = await newOwner();
  owner.answering = () => ({ status: 404, headers: {}, body: '{"error":"not_found"}\n' });
  expect(text((await newLink().handle(request('GET a'))).body)).toBe('{"error":"not_found"}\n');
});
