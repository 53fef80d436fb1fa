import { describe, expect, test } from 'vitest';
import type { ChangeFilter } from '../../../../src/database/changes/contract.ts';
import { id } from '../store/harness.ts';
import { all, everything, Watched } from './watched-databases.ts';

const NAMES = Array.from({ length: 2_000 }, (_, n) => `d${String(n).padStart(4, '0')}`);

/** Passes these documents, which are known in advance. */
function ofThese(names: readonly string[]): ChangeFilter {
  const ids = new Set(names.map(id));
  return {
    ids: [...ids],
    select: (rows, snapshot) =>
      everything.select(
        rows.filter((row) => ids.has(row.id)),
        snapshot,
      ),
  };
}

async function filled(): Promise<Watched> {
  const watched = await Watched.open();
  await watched.registry.use('db', (database) =>
    database.write(
      // The order of changes is not that of ids.
      NAMES.toReversed().map((name) => ({ id: id(name), rev: undefined, deleted: false, body: '{}' })),
      { newEdits: true, durability: 'relaxed' },
    ),
  );
  return watched;
}

function seqsOf(events: readonly string[]): readonly number[] {
  return events
    .slice(0, -1)
    .flatMap((event) => event.split(', '))
    .map((row) => Number.parseInt(row, 10));
}

describe('a feed of documents that are named in advance', () => {
  test.each([1, 100, 101, 450])(
    'looks up %d of them, in the order of changes, and walks over no others',
    async (count) => {
      const watched = await filled();
      const names = NAMES.slice(0, count);
      const events = await all(await watched.open({ lasts: 'once', filter: ofThese([...names, 'none']) }));
      expect(seqsOf(events)).toEqual(Array.from({ length: count }, (_, n) => 2_001 - count + n));
      expect(events.at(-1)).toBe('end 2000 +0');
      const options = { lasts: 'once', descending: true, filter: ofThese(names) } as const;
      expect(seqsOf(await all(await watched.open(options)))).toEqual(
        Array.from({ length: count }, (_, n) => 2_000 - n),
      );
      expect(watched.read).toBe(0);
      await watched.registry.close();
    },
  );

  test('lists only the changes after since, and stops at its limit', async () => {
    const watched = await filled();
    const filter = ofThese(NAMES.slice(0, 300));
    const events = await all(await watched.open({ lasts: 'once', since: 1_990, filter }));
    expect(seqsOf(events)).toEqual([1_991, 1_992, 1_993, 1_994, 1_995, 1_996, 1_997, 1_998, 1_999, 2_000]);
    const limited = await all(await watched.open({ lasts: 'once', limit: 2, filter: ofThese(NAMES.slice(0, 300)) }));
    expect(limited).toEqual(['1701 d0299, 1702 d0298', 'end 1702 +298']);
    await watched.registry.close();
  });

  test('walks over the changes if they are fewer', async () => {
    const watched = await filled();
    await all(await watched.open({ lasts: 'once', filter: ofThese(NAMES.slice(0, 600)) }));
    expect(watched.read).toBe(1);
    await watched.registry.close();
  });
});

test('documents that change while many are looked up come at their new places, each once', async () => {
  const watched = await Watched.open({ snapshotMaxAgeMs: -1, cacheBytes: 0 });
  await watched.write(...NAMES.slice(0, 900));
  const filter = ofThese(NAMES.slice(0, 200));
  const feed = await watched.open({ lasts: 'on', filter });
  const seqs: number[] = [];
  let isChanged = false;
  for await (const event of feed.events()) {
    if (event.type === 'changes') seqs.push(...event.changes.map(({ row }) => row.seq));
    if (!isChanged) {
      isChanged = true;
      const { rev } = await watched.registry.use('db', async (database) => ({
        rev: database.current(id('d0150'))?.rev,
      }));
      await watched.registry.use('db', (database) =>
        database.write([{ id: id('d0150'), rev, deleted: false, body: '{"n":2}' }], {
          newEdits: true,
          durability: 'relaxed',
        }),
      );
      await watched.registry.use('db', (database) => database.compact());
    }
    if (event.type === 'wait' && seqs.includes(901)) break;
  }
  // The first batch may have been read before the change.
  expect(new Set(seqs).size).toBe(seqs.length);
  expect(seqs.at(-1)).toBe(901);
  expect(seqs.filter((seq) => seq <= 200 && seq !== 151)).toHaveLength(199);
  expect(seqs).toEqual(seqs.toSorted((one, other) => one - other));
});
