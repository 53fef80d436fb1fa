import { expect, test } from 'vitest';
import { systemClock } from '../../../../src/base/shared/clock.ts';
import { createFinder } from '../../../../src/queries/find/finder.ts';
import { createQueryMappers } from '../../../../src/queries/find/query-mapper.ts';
import type { PageStore } from '../../../../src/storage/page-store.ts';
import { ViewFixture } from '../../../support/view-fixture.ts';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test("a document that doesn't match is not found, however slowly the response is read", async () => {
  const wrap = (store: PageStore): PageStore => ({
    supports: { ...store.supports, leafBytes: 400 },
    list: () => store.list(),
    open: (file, mode) => store.open(file, mode),
    destroy: (file) => store.destroy(file),
    close: () => store.close(),
  });
  const settings = { snapshotMaxAgeMs: 10, idleMs: 1, dirtyBytes: 1, cacheBytes: 1 };
  const fixture = await ViewFixture.open({ wrap, parts: { mappers: { query: createQueryMappers() }, settings } });
  const finder = createFinder({ views: fixture.views, clock: systemClock, maxSteps: () => undefined });
  const writer = { durability: 'relaxed', user: undefined } as const;
  await finder.createIndex(fixture.database, { index: { fields: ['year'] }, ddoc: 'i', name: 'n' }, writer);
  await fixture.write(
    Object.fromEntries(
      Array.from({ length: 300 }, (_u, i) => [`d${String(i).padStart(3, '0')}`, { year: i, pad: 'x'.repeat(3000) }]),
    ),
  );
  await fixture.write({ x: { year: -5, pad: 'x' } });
  const body = { selector: { year: { $gte: 0 } }, limit: 1000 };
  const answer = await finder.find(fixture.database, body);
  let text = '';
  let isFirst = true;
  for await (const piece of answer.pieces) {
    text += piece;
    if (!isFirst) continue;
    isFirst = false;
    await pause(20);
    await fixture.write({ x: { year: 500, pad: 'y' } });
    const again = await finder.find(fixture.database, { selector: { year: 500 } });
    for await (const _piece of again.pieces);
    again.release();
    await pause(20);
  }
  answer.release();
  const { docs } = JSON.parse(text) as { docs: { _id: string; year: number }[] };
  expect(docs.filter(({ year }) => year < 0)).toEqual([]);
  expect(docs.length).toBeGreaterThanOrEqual(300);
  await fixture.close();
});
