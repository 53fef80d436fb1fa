import { describe, expect, test } from 'vitest';
import { all, deleted, none, nothing, one, Watched } from './watched-databases.ts';

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
