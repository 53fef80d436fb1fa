import { afterEach, describe, expect, test, vi } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { Gate, id, leavesOf, rev, settle } from '../store/harness.ts';
import { all, everything, nothing, reader, Watched } from './watched-databases.ts';

const none = { leases: 0, snapshots: 0 };
const one = { leases: 1, snapshots: 1 };

afterEach(() => {
  vi.useRealTimers();
});

describe('a feed that ends by itself', () => {
  test('reports existing changes, and releases everything', async () => {
    const watched = await Watched.open();
    await watched.write('a', 'b');
    const feed = await watched.open({ lasts: 'once' });
    expect([feed.moment, watched.held]).toEqual([{ updateSeq: 2, purgeSeq: 0 }, one]);
    expect(await all(feed)).toEqual(['1 a, 2 b', 'end 2 +0']);
    expect(watched.held).toEqual(none);
  });

  test('runs backwards from the newest change', async () => {
    const watched = await Watched.open();
    await watched.write('a', 'b', 'c');
    const options = { lasts: 'once', descending: true } as const;
    expect(await all(await watched.open(options))).toEqual(['3 c, 2 b, 1 a', 'end 1 +0']);
    expect(await all(await watched.open({ ...options, limit: 2, since: 3 }))).toEqual(['3 c, 2 b', 'end 2 +0']);
  });

  test('reports the last sequence if no change passes the filter', async () => {
    const watched = await Watched.open();
    await watched.write('a', 'b');
    expect(await all(await watched.open({ lasts: 'once', filter: nothing }))).toEqual(['end 2 +0']);
  });

  test('counts the changes after its limit', async () => {
    const watched = await Watched.open();
    await watched.write('a', 'b', 'c');
    expect(await all(await watched.open({ lasts: 'once', limit: 1 }))).toEqual(['1 a', 'end 1 +2']);
    expect(await all(await watched.open({ lasts: 'on', limit: 3 }))).toEqual(['1 a, 2 b, 3 c', 'end 3 +0']);
    expect(watched.held).toEqual(none);
  });

  test('fails if its database is deleted while it is read', async () => {
    const watched = await Watched.open();
    await watched.write('a');
    const feed = await watched.open({ lasts: 'once' });
    watched.hooks.beforeRows = () => deleted(watched);
    await expect(all(feed)).rejects.toMatchObject({ code: 'storage_deleted' });
    expect(watched.held).toEqual(none);
  });
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

describe('a feed releases everything', () => {
  test('when it is closed before it was read, even repeatedly', async () => {
    const watched = await Watched.open();
    const feed = await watched.open();
    feed.close();
    expect(watched.held).toEqual(none);
    feed.close();
    expect(watched.held).toEqual(none);
  });

  test('when its filter fails, or the database does', async () => {
    const watched = await Watched.open();
    await watched.write('a');
    const failing = { select: () => Promise.reject(new DatabaseError('storage_failed', 'no')) };
    for (const lasts of ['once', 'first', 'on'] as const) {
      await expect(all(await watched.open({ lasts, filter: failing }))).rejects.toThrow('no');
      // What was read last would not be read again.
      await watched.write(`before ${lasts}`);
      const feed = await watched.open({ lasts });
      watched.hooks.beforeRows = () => Promise.reject(new DatabaseError('storage_corrupt', 'page 7 is damaged'));
      await expect(all(feed)).rejects.toThrow('page 7 is damaged');
      watched.hooks.beforeRows = undefined;
    }
    expect(watched.held).toEqual(none);
  });

  test("when it can't be started", async () => {
    const watched = await Watched.open();
    watched.hooks.beforeAcquire = () => Promise.reject(new DatabaseError('storage_failed', 'no'));
    await expect(watched.open()).rejects.toThrow('no');
    watched.hooks.beforeAcquire = undefined;
    await expect(watched.feeds.open('other', { ...watchOptions })).rejects.toMatchObject({ code: 'not_found' });
    expect(watched.held).toEqual(none);
  });

  test('when it is closed in the middle of a wait, and then ends at once without an end of its own', async () => {
    const watched = await Watched.open();
    const feed = await watched.open();
    const { next } = reader(feed);
    expect(await next()).toBe('wait');
    expect(watched.held).toEqual(none);
    const last = next();
    feed.close();
    expect(await last).toBe('over');
    // A write finds nobody any more.
    const { acquired } = watched;
    await watched.write('a');
    await settle();
    expect([watched.acquired, watched.held]).toEqual([acquired, none]);
  });

  test('when it is closed in the middle of a read', async () => {
    const watched = await Watched.open();
    await watched.write('a');
    const gate = new Gate();
    watched.hooks.beforeRows = () => gate.opened;
    const feed = await watched.open();
    const first = reader(feed).next();
    await settle();
    feed.close();
    // Whoever is in the middle of a snapshot needs it to the end of that step.
    expect(watched.held).toEqual(one);
    gate.open();
    expect(await first).toBe('over');
    expect(watched.held).toEqual(none);
  });

  test('when it is closed while the database is being reopened', async () => {
    const watched = await Watched.open();
    const feed = await watched.open();
    const { next } = reader(feed);
    await next();
    const gate = new Gate();
    watched.hooks.beforeAcquire = () => gate.opened;
    const last = next();
    await watched.write('a');
    await settle();
    feed.close();
    gate.open();
    expect(await last).toBe('over');
    expect(watched.held).toEqual(none);
  });

  test('when its reader abandons it', async () => {
    const watched = await Watched.open();
    await watched.write('a');
    for await (const event of (await watched.open()).events()) {
      expect([event.type, watched.held]).toEqual(['changes', one]);
      break;
    }
    expect(watched.held).toEqual(none);
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
    const { next } = reader(await watched.open({ timeoutMs: 1_000, filter: nothing }));
    expect(await next()).toBe('wait');
    const second = next();
    await vi.advanceTimersByTimeAsync(900);
    await watched.write('a');
    expect(await second).toBe('wait');
    const end = next();
    await vi.advanceTimersByTimeAsync(999);
    const timers = vi.getTimerCount();
    await vi.advanceTimersByTimeAsync(1);
    expect(await end).toBe('end 1 +0');
    expect(vi.getTimerCount()).toBe(timers - 1);
  });

  test('leaves no timer when it is closed', async () => {
    const watched = await Watched.open();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const feed = await watched.open({ timeoutMs: 1_000 });
    const { next } = reader(feed);
    await next();
    const last = next();
    await settle();
    feed.close();
    expect(await last).toBe('over');
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('deleting a database', () => {
  test('properly ends the feeds that wait for it', async () => {
    const watched = await Watched.open();
    await watched.write('a');
    const { next } = reader(await watched.open());
    expect([await next(), await next()]).toEqual(['1 a', 'wait']);
    const end = next();
    await watched.registry.delete('db');
    expect(await end).toBe('end 1 +0');
    expect(watched.held).toEqual(none);
  });

  test('properly ends the feeds that are reading it', async () => {
    const watched = await Watched.open();
    await watched.write('a');
    const { next } = reader(await watched.open());
    watched.hooks.beforeRows = () => deleted(watched);
    expect(await next()).toBe('end 0 +0');
    expect(watched.held).toEqual(none);
  });

  test('properly ends the feeds that have reported all and do not wait yet', async () => {
    const watched = await Watched.open();
    await watched.write('a');
    const { next } = reader(await watched.open());
    expect(await next()).toBe('1 a');
    await watched.registry.delete('db');
    expect([await next(), await next()]).toEqual(['wait', 'end 1 +0']);
  });

  test('and recreating it makes another one for its feeds, also for a feed about to continue', async () => {
    const watched = await Watched.open();
    await watched.write('a');
    const { next } = reader(await watched.open());
    expect([await next(), await next()]).toEqual(['1 a', 'wait']);
    watched.hooks.beforeAcquire = async () => {
      watched.hooks.beforeAcquire = undefined;
      await watched.registry.delete('db');
      await watched.registry.create('db');
      await watched.write('x', 'y', 'z');
    };
    const later = next();
    await watched.write('b');
    expect(await later).toBe('end 1 +0');
    expect(watched.held).toEqual(none);
  });
});

describe('the end of the service', () => {
  test('properly ends the waiting feeds, and those started later', async () => {
    const watched = await Watched.open();
    await watched.write('a');
    const { next } = reader(await watched.open({ since: 'now' }));
    await next();
    const end = next();
    const databases = watched.feeds.openDatabases();
    const event = databases.next(60_000);
    watched.feeds.end();
    expect([await end, await event]).toEqual(['end 1 +0', 'ended']);
    expect(await all(await watched.open())).toEqual(['1 a', 'wait', 'end 1 +0']);
    expect(watched.held).toEqual(none);
  });
});

test("a feed that can't continue is aborted, so that it doesn't look complete", async () => {
  const watched = await Watched.open();
  const { next } = reader(await watched.open());
  await next();
  watched.hooks.beforeAcquire = () => Promise.reject(new DatabaseError('storage_corrupt', 'page 7 is damaged'));
  const later = next();
  await watched.write('a');
  await expect(later).rejects.toThrow('page 7 is damaged');
  expect(watched.held).toEqual(none);
});

test('a feed whose snapshot is revoked continues with a later one: no change is missed or reported twice', async () => {
  const watched = await Watched.open({ snapshotMaxAgeMs: -1, cacheBytes: 0 });
  await watched.write(...Array.from({ length: 300 }, (_, n) => `d${n}`));
  let batches = 0;
  watched.hooks.beforeRows = async () => {
    batches += 1;
    if (batches > 3) return;
    await watched.write(`late${batches}`);
    await watched.registry.use('db', (database) => database.compact());
  };
  const seqs: number[] = [];
  for await (const event of (await watched.open()).events()) {
    if (event.type === 'wait' && seqs.length >= 303) break;
    if (event.type === 'changes') seqs.push(...event.changes.map(({ row }) => row.seq));
  }
  expect(seqs).toEqual(Array.from({ length: 303 }, (_, n) => n + 1));
});

/** As reads fail whose database is deleted before them. */
async function deleted(watched: Watched): Promise<never> {
  await watched.registry.delete('db');
  throw new DatabaseError('storage_deleted', 'The database was deleted.');
}

const watchOptions = {
  since: 0,
  descending: false,
  limit: 1,
  lasts: 'on',
  timeoutMs: undefined,
  filter: everything,
} as const;
