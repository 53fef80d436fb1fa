import { afterEach, describe, expect, test, vi } from 'vitest';
import { noteTimers } from '../../../support/noted-timers.ts';
import { id, leavesOf, rev, settle } from '../store/harness.ts';
import { all, type everything, none, nothing, reader, Watched } from './watched-databases.ts';

afterEach(() => {
  vi.useRealTimers();
});

describe('a change that many feeds wait for', () => {
  test('is read once, and reported to each feed', async () => {
    const watched = await Watched.open();
    await watched.write('a');
    const first = reader(await watched.open({ since: 1 }));
    const others = [
      reader(await watched.open({ since: 1 })),
      reader(await watched.open({ since: 1, filter: nothing })),
    ];
    const behind = reader(await watched.open());
    for (const feed of [first, ...others]) expect(await feed.next()).toBe('wait');
    expect([await behind.next(), await behind.next()]).toEqual(['1 a', 'wait']);
    await watched.write('b');
    expect([await first.next(), await first.next(), watched.read]).toEqual(['2 b', 'wait', 5]);
    expect([await behind.next(), await others[0]?.next(), await others[1]?.next()]).toEqual(['2 b', '2 b', 'wait']);
    expect(watched.read).toBe(5);
  });

  test('is read again by a feed with an earlier since, and after the next change', async () => {
    const watched = await Watched.open();
    await watched.write('a', 'b');
    expect(await all(await watched.open({ lasts: 'once', since: 1 }))).toEqual(['2 b', 'end 2 +0']);
    expect(await all(await watched.open({ lasts: 'once' }))).toEqual(['1 a, 2 b', 'end 2 +0']);
    await watched.write('c');
    expect(await all(await watched.open({ lasts: 'once' }))).toEqual(['1 a, 2 b, 3 c', 'end 3 +0']);
    expect(await all(await watched.open({ lasts: 'once' }))).toEqual(['1 a, 2 b, 3 c', 'end 3 +0']);
    expect(watched.read).toBe(3);
  });

  test('is read again after a purge', async () => {
    const watched = await Watched.open();
    await watched.write('a', 'b');
    expect(await all(await watched.open({ lasts: 'once' }))).toEqual(['1 a, 2 b', 'end 2 +0']);
    await watched.registry.use('db', async (db) => {
      const revs = (await leavesOf(db, 'b')).map((leaf) => rev(leaf.slice(0, leaf.indexOf('='))));
      await db.purge(new Map([[id('b'), revs]]));
    });
    expect((await all(await watched.open({ lasts: 'once' })))[0]).toBe('1 a');
  });
});

describe('a waiting feed', () => {
  test('holds nothing, and reports new changes', async () => {
    const watched = await Watched.open();
    await watched.write('a');
    const { next } = reader(await watched.open());
    expect(await next()).toBe('1 a');
    expect(await next()).toBe('wait');
    expect(watched.held).toEqual(none);
    const later = next();
    await watched.write('b');
    expect(await later).toBe('2 b');
    expect(await next()).toBe('wait');
    await watched.write('c', 'd');
    expect(await next()).toBe('3 c, 4 d');
  });

  test('reports a commit between its snapshot and its wait', async () => {
    const watched = await Watched.open();
    await watched.write('a');
    const { next } = reader(await watched.open());
    // The snapshot is there, and shows no more than the first document.
    await watched.write('b');
    expect([await next(), await next(), await next(), await next()]).toEqual(['1 a', 'wait', '2 b', 'wait']);
  });

  test('reports a commit between its watch and its snapshot once', async () => {
    const watched = await Watched.open();
    watched.hooks.beforeAcquire = async () => {
      watched.hooks.beforeAcquire = undefined;
      await watched.write('a');
    };
    const { next } = reader(await watched.open({ timeoutMs: 1 }));
    expect([await next(), await next()]).toEqual(['1 a', 'wait']);
    // The change was noticed, but there is nothing behind what was told.
    expect([await next(), await next()]).toEqual(['wait', 'end 1 +0']);
  });

  test('ends with the first change if it is a longpoll', async () => {
    const watched = await Watched.open();
    await watched.write('a');
    expect(await all(await watched.open({ lasts: 'first' }))).toEqual(['1 a', 'end 1 +0']);
    const { next } = reader(await watched.open({ lasts: 'first', since: 'now' }));
    expect(await next()).toBe('wait');
    await watched.write('b');
    expect([await next(), await next(), await next()]).toEqual(['2 b', 'end 2 +0', 'over']);
  });

  test('continues after changes that did not pass', async () => {
    const watched = await Watched.open();
    const filter = {
      select: (rows: Parameters<typeof everything.select>[0]) =>
        rows.filter(({ id }) => id === 'x').map((row) => ({ row, revs: row.revs })),
    };
    const { next } = reader(await watched.open({ lasts: 'first', filter }));
    expect(await next()).toBe('wait');
    await watched.write('a');
    expect(await next()).toBe('wait');
    await watched.write('b', 'x');
    expect([await next(), await next()]).toEqual(['3 x', 'end 3 +0']);
  });

  test('runs forward, whatever was requested', async () => {
    const watched = await Watched.open();
    await watched.write('a', 'b');
    const { next } = reader(await watched.open({ descending: true, since: 1 }));
    expect([await next(), await next()]).toEqual(['2 b', 'wait']);
  });

  test('waits for its own database only', async () => {
    const watched = await Watched.open();
    await watched.registry.create('other');
    const { next } = reader(await watched.open());
    await next();
    const later = next();
    await watched.registry.use('other', (database) => database.write([], { newEdits: true, durability: 'relaxed' }));
    await settle();
    expect(watched.acquired).toBe(1);
    await watched.write('a');
    expect(await later).toBe('1 a');
  });

  test('ends after its timeout, which counts from the last change, and leaves no timer', async () => {
    const watched = await Watched.open();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const timers = noteTimers();
    const { next } = reader(await watched.open({ timeoutMs: 1_000, filter: nothing }));
    expect(await next()).toBe('wait');
    const second = next();
    await vi.advanceTimersByTimeAsync(900);
    await watched.write('a');
    expect(await second).toBe('wait');
    const end = next();
    await vi.advanceTimersByTimeAsync(999);
    const before = timers.running.length;
    await vi.advanceTimersByTimeAsync(1);
    expect(await end).toBe('end 1 +0');
    expect(timers.running.length).toBe(before - 1);
  });

  test('leaves no timer when it is closed', async () => {
    const watched = await Watched.open();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const timers = noteTimers();
    const feed = await watched.open({ timeoutMs: 1_000 });
    const { next } = reader(feed);
    await next();
    const last = next();
    await settle();
    feed.close();
    expect(await last).toBe('over');
    expect(timers.running).toEqual([]);
  });
});
