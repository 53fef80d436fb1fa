import { expect, test } from 'vitest';
import { Bench, put } from './harness.ts';

/** When a database compacts itself (docs/http/databases.md#compaction). */

const MIB = 2 ** 20;

/** Fills a database, and resolves with the size that its file has, as the medium reports it, when its first compaction gives space back. */
async function firstCompaction(documents: number, sizeOf: (live: number) => number, restMs: number): Promise<string> {
  let live = 0;
  let isFilled = false;
  let compacted: (when: string) => void = () => undefined;
  const when = new Promise<string>((resolve) => {
    compacted = resolve;
  });
  let hasRested = false;
  const bench = new Bench({
    supports: { shrinks: false },
    settings: { idleMs: 10, restMs },
    hooks: {
      onSize: () => (isFilled ? sizeOf(live) : 0),
      onCompact: () => compacted(hasRested ? 'rested' : 'idle'),
    },
  });
  const db = await bench.open();
  const text = 'x'.repeat(MIB);
  for (let n = 0; n < documents; n++) await put(db, `d${n}`, { body: `{"text":"${text}"}` });
  ({ dataSize: live } = await db.info());
  isFilled = true;
  // The timer of the rest begins later, after the checkpoint of the idle database.
  const resting = setTimeout(() => {
    hasRested = true;
  }, restMs);
  await put(db, 'last');
  const result = await when;
  clearTimeout(resting);
  await db.close();
  return result;
}

test('a file that is more than half garbage is compacted when it is idle', async () => {
  const notInThisTest = 1_000_000;
  expect(await firstCompaction(5, (live) => 2.1 * live, notInThisTest)).toBe('idle');
});

test('a large file of which more than a fifth is garbage is compacted when it has rested', async () => {
  expect(await firstCompaction(17, (live) => 1.3 * live, 400)).toBe('rested');
});
