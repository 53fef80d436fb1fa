import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { HostConnections, Semaphore } from '../../../src/replication/host-connections.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => vi.useRealTimers());

const { signal } = new AbortController();

test('a host has two connections for feeds and three for requests, and other hosts have their own', async () => {
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

test('waiting requests continue in order, and an aborted one takes no connection', async () => {
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

test('after two seconds a waiting request continues anyway, and there are fewer connections until it is done', async () => {
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
