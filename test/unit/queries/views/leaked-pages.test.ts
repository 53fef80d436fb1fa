import { expect, test } from 'vitest';
import { MemoryMedium } from '../../../../src/storage/memory-page-store.ts';
import type { Commit, PageStore } from '../../../../src/storage/page-store.ts';
import { type Json, rowsOf, ViewFixture, withReader } from '../../../support/view-fixture.ts';
import { aroundIndexCommits, indexOf, leakedPages } from './leaked-pages.ts';
import { yearMappers, yearsDesign } from './year-mapper.ts';

/** Wherever the process ends, no page stays in an index file that the next owner neither uses nor frees. */
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const partsWith = (dirtyBytes: number) => ({
  mappers: yearMappers,
  settings: { dirtyBytes, idleMs: 1, cacheBytes: 1 },
});
const parts = partsWith(1_000);
const openGroup = ({ views, database }: ViewFixture) => views.open(database, yearsDesign);

function documents(count: number, year: number): Record<string, Json> {
  return Object.fromEntries(
    Array.from({ length: count }, (_unused, index) => [
      `d${String(index).padStart(4, '0')}`,
      { year: year + ((index * 7919) % 1000) },
    ]),
  );
}

/** What each of the moments leaves, once the index was opened, read and closed again. */
async function expectNoStrays(moments: readonly MemoryMedium[]): Promise<void> {
  for (const [number, medium] of moments.entries()) {
    const fixture = await ViewFixture.open({ medium, parts });
    await withReader(await openGroup(fixture), (reader) => rowsOf(reader, 'v'));
    await fixture.close();
    expect(leakedPages(indexOf(medium)).length, `killed after commit ${number + 1} of ${moments.length}`).toBe(0);
  }
}

/** Copies of the medium after each commit of an index, from `begin` on. */
class Moments {
  readonly medium = new MemoryMedium();
  readonly taken: MemoryMedium[] = [];
  /** Runs before each commit, from `begin` on. */
  before: (commit: Commit) => Promise<unknown> = async () => undefined;
  #isTaking = false;

  begin(): void {
    this.#isTaking = true;
  }

  readonly wrap = (store: PageStore): PageStore =>
    aroundIndexCommits(store, async (commit, proceed) => {
      if (this.#isTaking) await this.before(commit);
      await proceed();
      if (this.#isTaking) this.taken.push(this.medium.clone());
    });
}

test('no page is leaked after a compaction', async () => {
  const moments = new Moments();
  const { medium, wrap } = moments;
  const fixture = await ViewFixture.open({ medium, wrap, parts });
  const group = await openGroup(fixture);
  await fixture.write(documents(100, 0));
  await withReader(group, async () => undefined);
  await pause(20);
  moments.begin();
  await group.compact();
  await fixture.close();
  expect(moments.taken.length).toBeGreaterThan(5);
  await expectNoStrays(moments.taken);
});

test('no page is leaked after a compaction during updates', async () => {
  const moments = new Moments();
  const { medium, wrap } = moments;
  moments.before = async ({ head }) => head !== undefined && pause(20);
  const fixture = await ViewFixture.open({ medium, wrap, parts });
  const group = await openGroup(fixture);
  await fixture.write(documents(100, 0));
  await withReader(group, async () => undefined);
  await pause(40);
  moments.begin();
  const compacting = group.compact();
  await fixture.write(documents(30, 1_000));
  await withReader(group, async () => undefined);
  await compacting;
  await fixture.close();
  await expectNoStrays(moments.taken);
});

test('no page is leaked after a compaction that ends while its copy is being stored', async () => {
  const moments = new Moments();
  const { medium, wrap } = moments;
  const fixture = await ViewFixture.open({ medium, wrap, parts: partsWith(4_000) });
  const group = await openGroup(fixture);
  await fixture.write(documents(400, 0));
  await withReader(group, async () => undefined);
  await pause(20);
  await fixture.write(documents(1, 1_000));
  await withReader(group, async () => undefined);
  let heads = 0;
  moments.before = async ({ head, dropPages }) => {
    if (head !== undefined) heads++;
    // The first head is of the checkpoint before the copy; a commit that may drop pages after it is of one beside the copy.
    if (heads === 1 && head !== undefined) {
      await fixture.write(documents(1, 2_000));
      await withReader(group, async () => undefined);
    } else if (heads === 1 && dropPages !== undefined) await pause(40);
  };
  moments.begin();
  await group.compact();
  await fixture.close();
  expect(heads).toBeGreaterThan(2);
  await expectNoStrays(moments.taken);
});

test('no page is leaked after an index is rebuilt for a loss of its database while it is being stored', async () => {
  const moments = new Moments();
  const { medium, wrap } = moments;
  const fixture = await ViewFixture.open({ medium, wrap, parts: partsWith(2 ** 20) });
  await fixture.write(documents(10, 0));
  const early = medium.clone();
  await fixture.write(documents(200, 1_000));
  let slices = 0;
  moments.before = async ({ head }) => {
    if (head === undefined && slices++ === 0) await pause(40);
  };
  moments.begin();
  await withReader(await openGroup(fixture), async () => undefined);
  await pause(20);
  const later = await ViewFixture.open({ medium: early });
  const group = await fixture.views.open(later.database, yearsDesign);
  await withReader(group, async (reader) => expect(reader.totalRows('v')).toBe(10));
  await fixture.close();
  expect(slices).toBeGreaterThan(1);
  expect(leakedPages(indexOf(medium)).length).toBe(0);
  await later.close();
});
