import { describe, expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { Gate, settle } from '../store/harness.ts';
import { all, everything, none, one, reader, Watched } from './watched-databases.ts';

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

const watchOptions = {
  since: 0,
  descending: false,
  limit: 1,
  lasts: 'on',
  timeoutMs: undefined,
  filter: everything,
} as const;
