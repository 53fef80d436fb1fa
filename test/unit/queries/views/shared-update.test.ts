import { expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { systemClock } from '../../../../src/base/shared/clock.ts';
import { ActiveTasks } from '../../../../src/base/system/active-tasks.ts';
import { silentLog } from '../../../../src/base/system/log.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import type { MapperFactory } from '../../../../src/queries/views/contract.ts';
import { createViewIndexes } from '../../../../src/queries/views/view-indexes.ts';
import { patient } from '../../../support/patience.ts';
import { type Json, ViewFixture, withReader } from '../../../support/view-fixture.ts';
import { Gate } from '../../database/store/harness.ts';
import { indexOf, leakedPages } from './leaked-pages.ts';
import { yearMappers, yearsDesign } from './year-mapper.ts';

/** An index may be open for longer than a handle of its database: handles that are not used are closed, and opened again on demand. */
class Mapped {
  documents = 0;
  before: () => Promise<void> | void = () => undefined;

  readonly mappers: Readonly<Record<string, MapperFactory>> = {
    years: {
      open: async (source) => {
        const mapper = await must(yearMappers['years']).open(source);
        const map = async (documents: readonly string[]) => {
          await this.before();
          this.documents += documents.length;
          return mapper.map(documents);
        };
        return { batchSize: 10, map, release: () => undefined };
      },
    },
  };
}

async function openViews(mapped: Mapped) {
  const fixture = await ViewFixture.open();
  const views = createViewIndexes({
    store: fixture.store,
    clock: systemClock,
    config: createConfig({}),
    log: silentLog,
    tasks: new ActiveTasks(systemClock),
    mappers: mapped.mappers,
  });
  return { fixture, views };
}

function documents(count: number): Record<string, Json> {
  return Object.fromEntries(Array.from({ length: count }, (_unused, index) => [`d${index}`, { year: index }]));
}

test('a caller that joins an update through a closed handle gets the result of an update through its own handle', async () => {
  const mapped = new Mapped();
  const { fixture, views } = await openViews(mapped);
  await fixture.write(documents(100));
  const [gate, begun] = [new Gate(), new Gate()];
  mapped.before = () => {
    begun.open();
    return gate.opened;
  };
  const failing = Promise.resolve((await views.open(fixture.database, yearsDesign)).read());
  failing.catch(() => undefined);
  await begun.opened;
  await fixture.database.close();
  const again = await ViewFixture.open({ medium: fixture.medium });
  const group = await views.open(again.database, yearsDesign);
  const joining = withReader(group, async (reader) => reader.totalRows('v'));
  gate.open();
  await expect(failing).rejects.toMatchObject({ code: 'storage_closed' });
  // The index itself has not failed: whoever comes next does not end what others wait for.
  (await views.open(again.database, yearsDesign)).release();
  expect(await joining).toBe(100);
  await views.close();
  await again.close();
});

test("a closed handle doesn't rebuild an index that reflects a later database handle", async () => {
  const mapped = new Mapped();
  const { fixture, views } = await openViews(mapped);
  await fixture.write(documents(100));
  const former = await views.open(fixture.database, yearsDesign);
  await withReader(former, async () => undefined);
  await fixture.database.close();
  const again = await ViewFixture.open({ medium: fixture.medium });
  const group = await views.open(again.database, yearsDesign);
  await withReader(group, async () => undefined);
  await expect(former.read()).rejects.toMatchObject({ code: 'storage_closed' });
  await withReader(group, async (reader) => expect(reader.totalRows('v')).toBe(100));
  expect(mapped.documents).toBe(100);
  await views.close();
  await again.close();
});

test('an index with missing pages that must be rebuilt is built in a new file', async () => {
  const settings = { dirtyBytes: 1, idleMs: 1, cacheBytes: 1 };
  const fixture = await ViewFixture.open({ parts: { mappers: yearMappers, settings } });
  await fixture.write(documents(10));
  const early = fixture.medium.clone();
  await fixture.write(Object.fromEntries(Object.entries(documents(1_000)).slice(10)));
  const group = await fixture.views.open(fixture.database, yearsDesign);
  await withReader(group, async () => undefined);
  await expect.poll(() => group.info(), patient).toMatchObject({ waitingCommit: false });
  indexOf(fixture.medium).pages.clear();
  // A power cut took the database's last moments, while the index was not.
  const later = await ViewFixture.open({ medium: early });
  const total = async () =>
    withReader(await fixture.views.open(later.database, yearsDesign), async (reader) => reader.totalRows('v'));
  expect(await total()).toBe(10);
  await fixture.views.close();
  expect(leakedPages(indexOf(fixture.medium))).toEqual([]);
  await later.close();
});
