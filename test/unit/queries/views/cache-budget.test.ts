/** All databases and all their views share one budget for their page caches. */
import { expect, test, vi } from 'vitest';
import { CacheBudget } from '../../../../src/base/shared/cache-budget.ts';
import { systemClock, systemRandom } from '../../../../src/base/shared/clock.ts';
import { type Core, createCore } from '../../../../src/core/core.ts';
import { deferredAtHand } from '../../../../src/core/deferred/deferred-code.ts';
import { createMemoryPageStore, MemoryMedium } from '../../../../src/storage/memory-page-store.ts';
import { rowsOf, ViewFixture, withReader } from '../../../support/view-fixture.ts';
import { ask, askJson } from '../../http/support.ts';
import { createTestSandbox } from '../sandbox/quickjs-files.ts';

const databases = Array.from({ length: 10 }, (_, n) => `db${n}`);
const views = Object.fromEntries(
  Array.from({ length: 10 }, (_, v) => [`v${v}`, { map: `function (doc) { emit([${v}, doc.n], doc.pad); }` }]),
);
const DOCUMENTS = 200;

test('an index releases its part of the budget when it is closed', async () => {
  const cache = new CacheBudget(1_000_000);
  const fixture = await ViewFixture.open({ parts: { cache } });
  await fixture.write(Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`d${n}`, { n }])));
  const views = { v: { map: 'function (doc) { emit(doc.n, "x".repeat(100)); }' } };
  const group = await fixture.group(views);
  await withReader(group, async () => undefined);
  group.release();
  const { medium } = fixture;
  await fixture.close();
  const again = await ViewFixture.open({ medium, parts: { cache } });
  const stored = await again.group(views);
  expect(await withReader(stored, (reader) => rowsOf(reader, 'v'))).toHaveLength(500);
  expect(cache.bytes).toBeGreaterThan(50_000);
  stored.release();
  await again.close();
  expect(cache.bytes).toBe(0);
});

test('ten databases with ten views each stay within the budget', async () => {
  const maxBytes = 200_000;
  const medium = new MemoryMedium();
  const open = () =>
    createCore({
      storage: createMemoryPageStore({ medium }),
      clock: systemClock,
      random: systemRandom,
      config: { svc: { page_cache_bytes: String(maxBytes) } },
      deferred: deferredAtHand(createTestSandbox()),
    });
  const first = await open();
  for (const name of databases) await fill(first, name);
  await first.close();
  const core = await open();
  const admit = vi.spyOn(CacheBudget.prototype, 'admit');
  for (const name of databases) {
    for (const view of Object.keys(views)) await expectRows(core, name, view);
  }
  const budgets = new Set<unknown>(admit.mock.contexts);
  let admitted = 0;
  for (const [entry] of admit.mock.calls) admitted += entry.bytes;
  admit.mockRestore();
  expect(budgets.size).toBe(1);
  const [budget] = budgets;
  expect(budget).toMatchObject({ maxBytes });
  expect(admitted).toBeGreaterThan(5 * maxBytes);
  await core.close();
  expect(budget).toMatchObject({ bytes: 0 });
});

async function fill(core: Core, name: string): Promise<void> {
  const docs = Array.from({ length: DOCUMENTS }, (_, n) => ({ _id: `d${1_000 + n}`, n, pad: 'x'.repeat(100) }));
  await ask(core, `PUT /${name}`);
  await ask(core, `POST /${name}/_bulk_docs`, { body: JSON.stringify({ docs }) });
  await ask(core, `PUT /${name}/_design/d`, { body: JSON.stringify({ views }) });
  await expectRows(core, name, 'v0');
}

async function expectRows(core: Core, name: string, view: string): Promise<void> {
  const [, answer] = await askJson(core, `GET /${name}/_design/d/_view/${view}`);
  expect(answer).toMatchObject({ total_rows: DOCUMENTS });
}
