import { expect, test } from 'vitest';
import { DatabaseError } from '../../src/base/errors/database-error.ts';
import { checkpoint, note, passDays, purge, tombstone, tombstones } from '../unit/database/purging/support.ts';
import { Bench, leavesOf, put, seeAll, TINY, TINY_PAGES } from '../unit/database/store/harness.ts';

/** Automatic purges that a crash or a failing medium cuts off (docs/http/databases.md#automatic-purge). */

const NAMES = Array.from({ length: 20 }, (_, n) => `t${String(n).padStart(2, '0')}`);
/** A peer has read the first fifteen tombstones. */
const NEEDED = NAMES.slice(15);

async function filled(options: ConstructorParameters<typeof Bench>[0]) {
  const bench = new Bench({ settings: TINY, supports: TINY_PAGES, ...options });
  const db = await bench.open();
  await put(db, 'alive', { body: '{"text":"stays"}' });
  for (const name of NAMES) await tombstone(db, name);
  await checkpoint(db, 'phone', 31, 'source');
  await note(db);
  passDays(bench, 101);
  return { bench, db };
}

test('a crash after any commit leaves a database that the next run finishes, without a tombstone that a peer needs being lost', async () => {
  const crashes: Bench[] = [];
  let isWatched = false;
  const hooks = { afterCommit: () => void (isWatched && crashes.push(bench.crashed())) };
  const { bench, db } = await filled({ hooks });
  isWatched = true;
  expect(await purge(bench, db, { batchSize: 4 })).toBe(15);
  await db.verify();
  isWatched = false;
  await db.close();
  // Four purges, the notes, and what checkpoints wrote meanwhile.
  expect(crashes.length).toBeGreaterThan(5);
  for (const [index, crashed] of crashes.entries()) {
    crashed.clock.time = bench.clock.time;
    const again = await crashed.open();
    const left = await tombstones(again);
    expect(left.slice(-NEEDED.length), `crash ${index}`).toEqual(NEEDED);
    expect(await purge(crashed, again, { batchSize: 4 })).toBe(left.length - NEEDED.length);
    expect(await tombstones(again), `crash ${index}`).toEqual(NEEDED);
    expect(await leavesOf(again, 'alive')).toHaveLength(1);
    expect((await again.verify()).damage).toEqual([]);
    const seen = await seeAll(again);
    expect([seen.docCount, seen.docDelCount]).toEqual([1, NEEDED.length]);
    await again.close();
  }
});

test('a medium that fails in the middle ends the run, and the next one finishes it', async () => {
  let commits = Number.POSITIVE_INFINITY;
  const beforeCommit = () => {
    commits -= 1;
    if (commits < 0) throw new DatabaseError('storage_full', 'The medium of the test is full.');
  };
  const { bench, db } = await filled({ hooks: { beforeCommit } });
  commits = 3;
  await expect(purge(bench, db, { batchSize: 2 })).rejects.toMatchObject({ code: 'storage_full' });
  const left = await tombstones(db);
  expect(left.length).toBeGreaterThan(NEEDED.length);
  expect(left.length).toBeLessThan(NAMES.length);
  commits = Number.POSITIVE_INFINITY;
  expect(await purge(bench, db, { batchSize: 2 })).toBe(left.length - NEEDED.length);
  expect(await tombstones(db)).toEqual(NEEDED);
  await db.close();
});
