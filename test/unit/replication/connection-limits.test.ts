import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  FairConnectionLimits,
  FairSemaphore,
  HostConnectionLimits,
  Semaphore,
} from '../../../src/replication/connection-limits.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => vi.useRealTimers());

const { signal } = new AbortController();

function holderOf(user: string) {
  return { user, held: 0 };
}

/** Takes as many permits as there are, and returns their number. */
function takeAll(semaphore: FairSemaphore, holder: { readonly user: string; held: number }): number {
  while (semaphore.tryAcquire(holder));
  return holder.held;
}

test('a run takes at most a third of the connections, and the next one a third of the rest', () => {
  const semaphore = new FairSemaphore(64);
  expect(takeAll(semaphore, holderOf('greedy'))).toBe(22);
  expect(takeAll(semaphore, holderOf('other'))).toBe(14);
  expect(takeAll(semaphore, holderOf('third'))).toBe(10);
});

test('sixty runs of one user leave half of the connections to others', () => {
  const semaphore = new FairSemaphore(64);
  for (let n = 0; n < 60; n++) takeAll(semaphore, holderOf('greedy'));
  expect(semaphore.used).toBe(32);
  expect(takeAll(semaphore, holderOf('admin'))).toBe(11);
});

test('a run leaves another run of the same user at least one connection', () => {
  const semaphore = new FairSemaphore(64);
  const [first, second] = [holderOf('one'), holderOf('one')];
  takeAll(semaphore, first);
  semaphore.release(first);
  semaphore.release(first);
  expect(semaphore.tryAcquire(second)).toBe(true);
});

test('who waits goes on when there is a permit for it; who gives up takes none', async () => {
  const semaphore = new FairSemaphore(2);
  const [first, second] = [holderOf('one'), holderOf('two')];
  expect([semaphore.tryAcquire(first), semaphore.tryAcquire(first), semaphore.tryAcquire(second)]).toEqual([
    true,
    false,
    true,
  ]);
  const leaving = new AbortController();
  const gone = semaphore.acquire(holderOf('two'), leaving.signal);
  const waiting = semaphore.acquire(first, signal);
  leaving.abort(new Error('left'));
  await expect(gone).rejects.toThrow('left');
  semaphore.release(first);
  await waiting;
  expect([first.held, second.held, semaphore.used]).toEqual([1, 1, 2]);
  await expect(semaphore.acquire(first, leaving.signal)).rejects.toThrow('left');
});

test('requests to sources take no connection from those to targets, for which they could wait', async () => {
  const connections = new FairConnectionLimits(16);
  const source = connections.of({ side: 'source', user: 'one' });
  await Promise.all([source.requests.acquire(signal), source.requests.acquire(signal)]);
  await connections.of({ side: 'target', user: 'one' }).requests.acquire(signal);
  expect(connections.of({ side: 'target', user: 'two' }).feeds.tryAcquire()).toBe(true);
});

test('a host has two permits for feeds and three for requests, other hosts have their own', async () => {
  const connections = new HostConnectionLimits();
  const { feeds, requests } = connections.of({ url: 'https://a.example/one' });
  expect([feeds.tryAcquire(), feeds.tryAcquire(), feeds.tryAcquire()]).toEqual([true, true, false]);
  expect(connections.of({ url: 'https://a.example/other/path' }).feeds.tryAcquire()).toBe(false);
  expect(connections.of({ url: 'https://b.example/one' }).feeds.tryAcquire()).toBe(true);
  await Promise.all([requests.acquire(signal), requests.acquire(signal), requests.acquire(signal)]);
  const isLetIn = vi.fn();
  void requests.acquire(signal).then(isLetIn);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(isLetIn).not.toHaveBeenCalled();
});

test('who waits is let in in order; who gives up does not take a permit', async () => {
  const semaphore = new Semaphore(1);
  const order: string[] = [];
  const enter = async (name: string, by = signal) => {
    await semaphore.acquire(by);
    order.push(name);
  };
  await enter('first');
  const leaving = new AbortController();
  const gone = enter('gone', leaving.signal);
  const second = enter('second');
  leaving.abort(new Error('left'));
  await expect(gone).rejects.toThrow('left');
  expect(order).toEqual(['first']);
  semaphore.release();
  await second;
  expect(order).toEqual(['first', 'second']);
  await expect(semaphore.acquire(leaving.signal)).rejects.toThrow('left');
});

test('nobody waits for ever: after two seconds one goes on, and the permits are fewer until it is done', async () => {
  const semaphore = new Semaphore(1);
  expect(semaphore.tryAcquire()).toBe(true);
  const waiting = semaphore.acquire(signal);
  await vi.advanceTimersByTimeAsync(2_000);
  await waiting;
  semaphore.release();
  expect(semaphore.tryAcquire()).toBe(false);
  semaphore.release();
  expect(semaphore.tryAcquire()).toBe(true);
});
