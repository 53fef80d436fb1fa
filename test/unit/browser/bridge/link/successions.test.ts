import { describe, expect, test, vi } from 'vitest';
import type { PlainResponse } from '../../../../../src/base/shared/message.ts';
import { bytes, messagesArrived, readAll, reasonOf, sourceOf, streamOf, until } from '../support.ts';
import { instance, newLink, newOwner, pass, request, table, useLinks, waitingOwner } from './links.ts';

useLinks();

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
