import { describe, expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { all, deleted, none, reader, Watched } from './watched-databases.ts';

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

describe('a database that is closed while it is read', () => {
  const closed = () => Promise.reject(new DatabaseError('storage_closed', 'The database was closed.'));

  test('is opened again, and its feeds go on where they were', async () => {
    const watched = await Watched.open();
    await watched.write('a');
    const { next } = reader(await watched.open());
    expect([await next(), await next()]).toEqual(['1 a', 'wait']);
    watched.hooks.beforeRows = () => {
      watched.hooks.beforeRows = undefined;
      return closed();
    };
    await watched.write('b');
    expect([await next(), await next()]).toEqual(['2 b', 'wait']);
    expect(watched.held).toEqual(none);
  });

  test('loses no row that was found before it was closed', async () => {
    const watched = await Watched.open();
    await watched.write('a', 'b', 'c');
    watched.hooks.beforeCount = () => {
      watched.hooks.beforeCount = undefined;
      return closed();
    };
    expect(await all(await watched.open({ lasts: 'first', limit: 2 }))).toEqual(['1 a, 2 b', 'end 2 +1']);
    expect(watched.held).toEqual(none);
  });

  test('may be closed again later', async () => {
    const watched = await Watched.open();
    await watched.write('a');
    const { next } = reader(await watched.open());
    expect([await next(), await next()]).toEqual(['1 a', 'wait']);
    for (const id of ['b', 'c']) {
      watched.hooks.beforeRows = () => {
        watched.hooks.beforeRows = undefined;
        return closed();
      };
      await watched.write(id);
      expect([await next(), await next()]).toEqual([`${id === 'b' ? 2 : 3} ${id}`, 'wait']);
    }
  });

  test('breaks its feeds off if that does not help, or if they do not wait', async () => {
    for (const lasts of ['on', 'once'] as const) {
      const watched = await Watched.open();
      await watched.write('a');
      watched.hooks.beforeRows = closed;
      const { next } = reader(await watched.open({ lasts }));
      await expect(next()).rejects.toThrow('The database was closed.');
      expect(watched.acquired).toBe(lasts === 'on' ? 2 : 1);
      expect(watched.held).toEqual(none);
    }
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
