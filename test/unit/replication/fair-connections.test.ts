import { expect, test } from 'vitest';
import { FairConnections, FairPlaces } from '../../../src/replication/fair-connections.ts';

const { signal } = new AbortController();

function holderOf(user: string) {
  return { user, held: 0 };
}

/** Takes as many places as there are, and gives their number. */
function takeAll(places: FairPlaces, holder: { readonly user: string; held: number }): number {
  while (places.tryEnter(holder));
  return holder.held;
}

test('a run takes at most a third of the connections, and the next one a third of the rest', () => {
  const places = new FairPlaces(64);
  expect(takeAll(places, holderOf('greedy'))).toBe(22);
  expect(takeAll(places, holderOf('other'))).toBe(14);
  expect(takeAll(places, holderOf('third'))).toBe(10);
});

test('sixty runs of one user leave half of the connections to others', () => {
  const places = new FairPlaces(64);
  for (let n = 0; n < 60; n++) takeAll(places, holderOf('greedy'));
  expect(places.used).toBe(32);
  expect(takeAll(places, holderOf('admin'))).toBe(11);
});

test('a run leaves another run of the same user at least one connection', () => {
  const places = new FairPlaces(64);
  const [first, second] = [holderOf('one'), holderOf('one')];
  takeAll(places, first);
  places.leave(first);
  places.leave(first);
  expect(places.tryEnter(second)).toBe(true);
});

test('a waiting request continues when a connection is free, and an aborted one takes none', async () => {
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

test('requests to sources take no connection from those to targets, for which they could wait', async () => {
  const connections = new FairConnections(16);
  const source = connections.of({ side: 'source', user: 'one' });
  await Promise.all([source.requests.enter(signal), source.requests.enter(signal)]);
  await connections.of({ side: 'target', user: 'one' }).requests.enter(signal);
  expect(connections.of({ side: 'target', user: 'two' }).feeds.tryEnter()).toBe(true);
});
