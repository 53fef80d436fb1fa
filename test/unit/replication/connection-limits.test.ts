import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FairConnections, FairPlaces, HostConnections, Semaphore } from '../../../src/replication/connection-limits.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => vi.useRealTimers());

const { signal } = new AbortController();

function holderOf(user: string) {
  return { user, held: 0 };
}

/** Takes as many places as there are, and gives their number. */
function takeAll(places: FairPlaces, holder: { readonly user: string; held: number }): number {
  while (places.tryEnter(holder));
  return holder.held;
}

test('a run takes a third of what is there at most, and the next one a third of the rest', () => {
  const places = new FairPlaces(64);
  expect(takeAll(places, holderOf('greedy'))).toBe(22);
  expect(takeAll(places, holderOf('other'))).toBe(14);
  expect(takeAll(places, holderOf('third'))).toBe(10);
});

test('sixty runs of one user leave another one the half of all', () => {
  const places = new FairPlaces(64);
  for (let n = 0; n < 60; n++) takeAll(places, holderOf('greedy'));
  expect(places.used).toBe(32);
  expect(takeAll(places, holderOf('admin'))).toBe(11);
});

test('a run leaves another one of its user something', () => {
  const places = new FairPlaces(64);
  const [first, second] = [holderOf('one'), holderOf('one')];
  takeAll(places, first);
  places.leave(first);
  places.leave(first);
  expect(places.tryEnter(second)).toBe(true);
});

test('who waits goes on when there is a place for it; who gives up takes none', async () => {
  const places = new FairPlaces(2);
  const [first, second] = [holderOf('one'), holderOf('two')];
  expect([places.tryEnter(first), places.tryEnter(first), places.tryEnter(second)]).toEqual([true, false, true]);
  const leaving = new AbortController();
  const gone = places.enter(holderOf('two'), leaving.signal);
  const waiting = places.enter(first, signal);
  leaving.abort(new Error('left'));
  await expect(gone).rejects.toThrow('left');
  places.leave(first);
  await waiting;
  expect([first.held, second.held, places.used]).toEqual([1, 1, 2]);
  await expect(places.enter(first, leaving.signal)).rejects.toThrow('left');
});

test('requests to sources take none from those to targets, which they may wait for', async () => {
  const connections = new FairConnections(16);
  const source = connections.of({ side: 'source', user: 'one' });
  await Promise.all([source.requests.enter(signal), source.requests.enter(signal)]);
  await connections.of({ side: 'target', user: 'one' }).requests.enter(signal);
  expect(connections.of({ side: 'target', user: 'two' }).feeds.tryEnter()).toBe(true);
});

test('a host has two places for feeds and three for requests, other hosts have their own', async () => {
  const connections = new HostConnections();
  const { feeds, requests } = connections.of({ url: 'https://a.example/one' });
  expect([feeds.tryEnter(), feeds.tryEnter(), feeds.tryEnter()]).toEqual([true, true, false]);
  expect(connections.of({ url: 'https://a.example/other/path' }).feeds.tryEnter()).toBe(false);
  expect(connections.of({ url: 'https://b.example/one' }).feeds.tryEnter()).toBe(true);
  await Promise.all([requests.enter(signal), requests.enter(signal), requests.enter(signal)]);
  const isLetIn = vi.fn();
  void requests.enter(signal).then(isLetIn);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(isLetIn).not.toHaveBeenCalled();
});

test('who waits is let in in order; who gives up does not take a place', async () => {
  const places = new Semaphore(1);
  const order: string[] = [];
  const enter = async (name: string, by = signal) => {
    await places.enter(by);
    order.push(name);
  };
  await enter('first');
  const leaving = new AbortController();
  const gone = enter('gone', leaving.signal);
  const second = enter('second');
  leaving.abort(new Error('left'));
  await expect(gone).rejects.toThrow('left');
  expect(order).toEqual(['first']);
  places.leave();
  await second;
  expect(order).toEqual(['first', 'second']);
  await expect(places.enter(leaving.signal)).rejects.toThrow('left');
});

test('nobody waits for ever: after two seconds one goes on, and the places are fewer until it is done', async () => {
  const places = new Semaphore(1);
  expect(places.tryEnter()).toBe(true);
  const waiting = places.enter(signal);
  await vi.advanceTimersByTimeAsync(2_000);
  await waiting;
  places.leave();
  expect(places.tryEnter()).toBe(false);
  places.leave();
  expect(places.tryEnter()).toBe(true);
});
