import { describe, expect, test } from 'vitest';
import type { PlainResponse } from '../../../../../src/base/shared/message.ts';
import { bytes, messagesArrived, readAll, reasonOf, sourceOf, streamOf, until } from '../support.ts';
import { never, newLink, newOwner, pass, request, useLinks, waitingOwner } from './links.ts';

useLinks();

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
