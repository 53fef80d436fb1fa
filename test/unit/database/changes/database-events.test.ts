import { afterEach, describe, expect, test, vi } from 'vitest';
import type { DatabaseEvent } from '../../../../src/database/changes/contract.ts';
import { DatabaseWatches, WaitingDatabaseEvents } from '../../../../src/database/changes/database-events.ts';
import { noteTimers } from '../../../support/noted-timers.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** Whoever listens, and what is told to them. */
class Events {
  readonly listeners = new Set<(event: DatabaseEvent) => void>();

  onEvent(listener: (event: DatabaseEvent) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  tell(...events: readonly string[]): void {
    for (const event of events) {
      const [type, name = ''] = event.split(' ');
      if (type !== 'created' && type !== 'updated' && type !== 'deleted') throw new Error(event);
      for (const listener of this.listeners) listener({ type, name });
    }
  }
}

function openFeed() {
  const events = new Events();
  const feed = new WaitingDatabaseEvents((listener) => events.onEvent(listener));
  const next = async () => {
    const event = await feed.next(1_000);
    return typeof event === 'string' ? event : `${event.type} ${event.name}`;
  };
  /** All that waits. */
  const taken = async () => {
    const texts: string[] = [];
    feed.close();
    for (let text = await next(); text !== 'ended'; text = await next()) texts.push(text);
    return texts;
  };
  return { events, feed, next, taken };
}

describe('a feed of database events', () => {
  test('reports events as they happen', async () => {
    const { events, next } = openFeed();
    const first = next();
    events.tell('created a');
    expect(await first).toBe('created a');
    const second = next();
    events.tell('updated a');
    expect(await second).toBe('updated a');
  });

  test('reports pending changes of one database once, at the position of the first', async () => {
    const { events, taken } = openFeed();
    events.tell('updated a', 'updated b', 'updated a', 'updated a', 'updated b');
    expect(await taken()).toEqual(['updated a', 'updated b']);
  });

  test('reports a change again after the previous one was taken', async () => {
    const { events, next, taken } = openFeed();
    events.tell('updated a');
    expect(await next()).toBe('updated a');
    events.tell('updated a', 'updated a');
    expect(await taken()).toEqual(['updated a']);
  });

  test('keeps creations, deletions and changes between them in order', async () => {
    const { events, taken } = openFeed();
    const all = ['created a', 'updated a', 'deleted a', 'created a', 'updated a', 'updated b', 'deleted a'];
    events.tell(...all);
    expect(await taken()).toEqual(all);
  });

  test('has one pending change of a database, also after an earlier one was taken', async () => {
    const { events, next, taken } = openFeed();
    events.tell('updated a', 'deleted a', 'created a', 'updated a');
    expect(await next()).toBe('updated a');
    events.tell('updated a');
    expect(await taken()).toEqual(['deleted a', 'created a', 'updated a']);
  });

  test('ends with its pending events if a reader is too far behind', async () => {
    const { events, next } = openFeed();
    for (let n = 0; n < 20_000; n += 1) events.tell(`created d${n}`);
    expect(events.listeners.size).toBe(0);
    for (let n = 0; n < 10_000; n += 1) expect(await next()).toBe(`created d${n}`);
    expect(await next()).toBe('ended');
  });

  test('has a timeout, and leaves no timer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const timers = noteTimers();
    const { events, feed, next } = openFeed();
    const silent = next();
    await vi.advanceTimersByTimeAsync(999);
    expect(timers.running.length).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await silent).toBe('timeout');
    const later = next();
    events.tell('created a');
    expect([await later, timers.running.length]).toEqual(['created a', 0]);
    const last = next();
    feed.close();
    expect([await last, timers.running.length]).toEqual(['ended', 0]);
    feed.close();
    expect(events.listeners.size).toBe(0);
  });
});

describe('a watch of a database', () => {
  function watches() {
    const events = new Events();
    return { events, watches: new DatabaseWatches(events) };
  }

  test('notices events since the last time once', async () => {
    const { events, watches: all } = watches();
    const watch = all.begin('a');
    events.tell('updated a', 'updated a', 'updated b');
    expect([await watch.next(1), await watch.next(1)]).toEqual(['changed', 'timeout']);
    const waiting = watch.next(undefined);
    events.tell('updated b', 'updated a');
    expect(await waiting).toBe('changed');
  });

  test('ends with its database, with the service, and when it is ended', async () => {
    const { events, watches: all } = watches();
    const [first, second, third] = [all.begin('a'), all.begin('a'), all.begin('b')];
    const waiting = [first.next(undefined), second.next(undefined), third.next(undefined)];
    first.end();
    first.end();
    expect(await waiting[0]).toBe('ended');
    events.tell('updated a', 'deleted a');
    expect([await waiting[1], await second.next(undefined)]).toEqual(['deleted', 'deleted']);
    all.end();
    expect(await waiting[2]).toBe('ended');
    expect(await all.begin('c').next(undefined)).toBe('ended');
  });

  test("of a deleted database doesn't watch a recreated one", async () => {
    const { events, watches: all } = watches();
    const before = all.begin('a');
    events.tell('deleted a');
    const after = all.begin('a');
    before.end();
    events.tell('updated a');
    expect([await before.next(1), await after.next(1)]).toEqual(['deleted', 'changed']);
  });
});
