import { expect, test, vi } from 'vitest';
import { Tree } from '../../../../src/storage/btree/tree.ts';
import { Bench, put, TINY, TINY_PAGES } from './harness.ts';

test("a checkpoint doesn't visit the nodes in memory again for each slice", async () => {
  let slices = 0;
  const room = { dirtyBytes: 2 ** 20, journalBytes: 2 ** 20 };
  const bench = new Bench({
    // A commit takes ten documents in, and a checkpoint has many slices, between which others wait.
    settings: { ...TINY, ...room, journalRecords: 14, sliceBytes: 300, groupBytes: 70 },
    supports: TINY_PAGES,
    hooks: {
      beforeCommit: ({ writePages = [] }) => {
        if (writePages.some(({ value }) => typeof value === 'string')) slices += 1;
      },
    },
  });
  const db = await bench.open();
  const measure = vi.spyOn(Tree.prototype, 'unstoredBytes');
  await Promise.all(Array.from({ length: 1_000 }, (_unused, index) => put(db, `d${index}`, {})));
  // The five trees at a time.
  const measured = measure.mock.calls.length / 5;
  measure.mockRestore();
  expect(slices).toBeGreaterThan(100);
  expect(measured).toBeLessThan(slices / 4);
  await db.close();
});
