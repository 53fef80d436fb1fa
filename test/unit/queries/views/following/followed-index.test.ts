import { afterEach, describe, expect, test, vi } from 'vitest';
import { must } from '../../../../../src/base/shared/assert.ts';
import type { StoredDatabase } from '../../../../../src/database/store/stored-database.ts';
import type { UpdateMode, ViewGroup } from '../../../../../src/queries/views/contract.ts';
import { createMemoryPageStore, type MemoryFile } from '../../../../../src/storage/memory-page-store.ts';
import type { FollowedFile, PageStore } from '../../../../../src/storage/page-store.ts';
import { FollowedViews } from '../../../../support/followed-views.ts';
import { design, type Json, rowsOf, ViewFixture, withReader } from '../../../../support/view-fixture.ts';

const map = 'function (doc) { emit(doc.n, doc.pad); }';
const DESIGN = design({ n: { map, reduce: '_count' } });
const NOT_OWNER = { code: 'not_owner' };

interface PairParts {
  readonly group: ViewGroup;
  readonly store: PageStore;
}

/** An owner of views that stores only when it is told to, and a reader of them. */
class Pair {
  readonly fixture: ViewFixture;
  readonly reader: FollowedViews;
  readonly #group: ViewGroup;
  /** How often the reader has asked whether there is a new head. */
  readonly polls: { count: number };

  readonly #store: PageStore;

  private constructor(fixture: ViewFixture, reader: FollowedViews, parts: Pick<Pair, 'polls'> & PairParts) {
    const { group, polls, store } = parts;
    this.#store = store;
    this.fixture = fixture;
    this.reader = reader;
    this.#group = group;
    this.polls = polls;
  }

  static async open(settings = {}): Promise<Pair> {
    const fixture = await ViewFixture.open();
    const polls = { count: 0 };
    const store = createMemoryPageStore({ medium: fixture.medium });
    const reader = await FollowedViews.open(fixture.database, readOnly(store, polls), { settings });
    const group = await fixture.views.open(fixture.database, DESIGN);
    return new Pair(fixture, reader, { group, polls, store });
  }

  /** Of the reader. */
  get openFiles(): number | undefined {
    return this.#store.openFiles;
  }

  /** The owner updates its index, and stores it. */
  async store(): Promise<void> {
    await withReader(this.#group, async () => undefined);
    await this.compact();
  }

  /** The owner stores what it has, in new pages. */
  async compact(): Promise<void> {
    await this.#group.compact();
  }

  /** The ids of the rows that the owner finds. */
  owned(mode: UpdateMode = 'before'): Promise<string[]> {
    return idsOf(this.#group, mode);
  }

  /** The ids of the rows that the reader finds itself. */
  async found(mode: UpdateMode = 'before'): Promise<string[]> {
    const group = await this.reader.group(DESIGN);
    try {
      return await idsOf(group, mode);
    } finally {
      group.release();
    }
  }

  /** The file of the index. */
  get file(): MemoryFile {
    const name = [...this.fixture.medium.files.keys()].find((one) => one.startsWith('db.1.'));
    return must(this.fixture.medium.files.get(name ?? ''));
  }

  /** Writes that many documents. */
  async add(count: number): Promise<void> {
    const first = this.fixture.database.updateSeq;
    const named = Array.from({ length: count }, (_unused, index) => [`many-${first + index}`, { n: 1 }]);
    await this.fixture.write(Object.fromEntries(named));
  }

  async close(): Promise<void> {
    await this.reader.close();
    this.#group.release();
    await this.fixture.close();
  }
}

async function idsOf(group: ViewGroup, mode: UpdateMode): Promise<string[]> {
  const reader = await group.read(mode);
  try {
    return (await rowsOf(reader, 'n')).map(([id]) => id);
  } finally {
    reader.release();
  }
}

/** A store that changes nothing, and fails where it would. */
function readOnly(store: PageStore, polls: { count: number }): PageStore {
  const refuse = async (): Promise<never> => {
    throw new Error('a reader writes nothing');
  };
  const counted = (file: FollowedFile): FollowedFile =>
    new Proxy(file, {
      get: (target, key) => {
        if (key === 'poll' && target.name !== 'db.1') polls.count += 1;
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  return {
    supports: store.supports,
    list: refuse,
    open: refuse,
    destroy: refuse,
    follow: async (name) => counted(await must(store.follow?.(name))),
    close: () => store.close(),
  };
}

let pair: Pair;

afterEach(async () => {
  vi.useRealTimers();
  await pair.close();
});

const bodies = (...numbers: number[]): Record<string, Json> =>
  Object.fromEntries(numbers.map((n) => [`d${n}`, { n, pad: 'x' }]));

describe('a followed index', () => {
  test('has what the owner has stored, and what was changed since', async () => {
    pair = await Pair.open();
    await pair.fixture.write(bodies(1, 2, 3));
    await pair.store();
    expect(await pair.found()).toEqual(['d1', 'd2', 'd3']);
    await pair.fixture.write({ d2: undefined, d3: { n: 0 }, ...bodies(4) });
    expect(await pair.found()).toEqual(['d3', 'd1', 'd4']);
    expect(await pair.owned('never')).toEqual(['d1', 'd2', 'd3']);
    await pair.store();
    await pair.fixture.write(bodies(5));
    expect(await pair.found()).toEqual(['d3', 'd1', 'd4', 'd5']);
  });

  test('is left to the owner until that one has stored it', async () => {
    pair = await Pair.open();
    await pair.fixture.write(bodies(1));
    await expect(pair.found()).rejects.toMatchObject(NOT_OWNER);
    await pair.owned();
    await expect(pair.found()).rejects.toMatchObject(NOT_OWNER);
    await expect(pair.found('never')).rejects.toMatchObject(NOT_OWNER);
    await pair.store();
    expect(await pair.found()).toEqual(['d1']);
  });

  test('is left to the owner when its file is removed, until it is stored again', async () => {
    pair = await Pair.open();
    await pair.fixture.write(bodies(1));
    await pair.store();
    expect(await pair.found()).toEqual(['d1']);
    await pair.fixture.views.cleanup(pair.fixture.database);
    // Queries that need no update look at it in any case.
    await expect(pair.found('never')).rejects.toMatchObject(NOT_OWNER);
    await expect(pair.found()).rejects.toMatchObject(NOT_OWNER);
    const group = await pair.fixture.views.open(pair.fixture.database, DESIGN);
    await withReader(group, async () => undefined);
    await group.compact();
    group.release();
    expect(await pair.found()).toEqual(['d1']);
  });

  test('is read without an update if the query does not want one', async () => {
    pair = await Pair.open();
    await pair.fixture.write(bodies(1));
    await pair.store();
    await pair.fixture.write(bodies(2));
    expect(await pair.found('never')).toEqual(['d1']);
    expect(await pair.found('after')).toEqual(['d1']);
    await expect.poll(() => pair.found('never')).toEqual(['d1', 'd2']);
  });

  test('is not older than before when the owner stores less than was mapped', async () => {
    pair = await Pair.open();
    await pair.fixture.write(bodies(1));
    await pair.store();
    await pair.fixture.write(bodies(2));
    expect(await pair.found()).toEqual(['d1', 'd2']);
    const { head } = pair.file;
    await pair.compact();
    expect(pair.file.head).not.toBe(head);
    expect(await pair.found('never')).toEqual(['d1', 'd2']);
  });

  test('is not older than the answer of the owner in its place', async () => {
    pair = await Pair.open({ dirtyBytes: 4_000 });
    await pair.fixture.write(bodies(1));
    await pair.store();
    await pair.fixture.write({ d2: { n: 2, pad: 'x'.repeat(8_000) } });
    expect(await pair.found('never')).toEqual(['d1']);
    await expect(pair.found()).rejects.toMatchObject(NOT_OWNER);
    expect(await pair.owned()).toEqual(['d1', 'd2']);
    await expect(pair.found('never')).rejects.toMatchObject(NOT_OWNER);
  });

  test('sends one query to the owner when much has changed, and all when it is too much', async () => {
    pair = await Pair.open();
    await pair.fixture.write(bodies(1));
    await pair.store();
    await pair.add(1_000);
    expect(await pair.found()).toHaveLength(1_001);
    await pair.add(1);
    await expect(pair.found()).rejects.toMatchObject(NOT_OWNER);
    expect(await pair.found()).toHaveLength(1_002);
    await pair.add(999);
    expect(await pair.found()).toHaveLength(2_001);
    await pair.add(1);
    await expect(pair.found()).rejects.toMatchObject(NOT_OWNER);
    await expect(pair.found('after')).rejects.toMatchObject(NOT_OWNER);
    await pair.store();
    expect(await pair.found()).toHaveLength(2_002);
  });

  test('is left to the owner when its changes take too much memory', async () => {
    // A quarter of it is for one index.
    pair = await Pair.open({ dirtyBytes: 40_000 });
    await pair.fixture.write(bodies(1));
    await pair.store();
    await pair.fixture.write({ d2: { n: 2, pad: 'x'.repeat(8_000) } });
    expect(await pair.found()).toEqual(['d1', 'd2']);
    await pair.fixture.write({ d3: { n: 3, pad: 'x'.repeat(8_000) } });
    await expect(pair.found()).rejects.toMatchObject(NOT_OWNER);
    await pair.store();
    expect(await pair.found()).toEqual(['d1', 'd2', 'd3']);
  });

  test('is left to the owner after a purge', async () => {
    pair = await Pair.open();
    await pair.fixture.write(bodies(1, 2));
    await pair.store();
    expect(await pair.found()).toEqual(['d1', 'd2']);
    await purge(pair.fixture.database, 'd1', pair.fixture.revOf('d1'));
    await expect(pair.found()).rejects.toMatchObject(NOT_OWNER);
    await pair.store();
    expect(await pair.found()).toEqual(['d2']);
  });

  test('is left to the owner if it was made with another collation', async () => {
    pair = await Pair.open();
    await pair.fixture.write(bodies(1));
    await pair.store();
    const other = await FollowedViews.open(
      pair.fixture.database,
      createMemoryPageStore({ medium: pair.fixture.medium }),
      { engine: 'another engine' },
    );
    const group = await other.group(DESIGN);
    await expect(group.read()).rejects.toMatchObject(NOT_OWNER);
    group.release();
    await other.close();
  });

  test('is left to the owner if its head or a page is damaged', async () => {
    pair = await Pair.open();
    await pair.fixture.write(bodies(1));
    await pair.store();
    const { file } = pair;
    const { head, pages } = file;
    file.head = `${head?.slice(0, -1)}?`;
    await expect(pair.found()).rejects.toMatchObject(NOT_OWNER);
    file.head = head;
    const kept = new Map(pages);
    for (const [number, value] of kept) pages.set(number, `${String(value).slice(0, -1)}?`);
    await expect(pair.found()).rejects.toMatchObject(NOT_OWNER);
    for (const [number, value] of kept) pages.set(number, value);
    expect(await pair.found()).toEqual(['d1']);
  });

  test('is left to the owner if the database has lost changes that it reflects', async () => {
    pair = await Pair.open();
    await pair.fixture.write(bodies(1));
    await pair.store();
    await pair.fixture.write(bodies(2));
    expect(await pair.found()).toEqual(['d1', 'd2']);
    const { database } = pair.reader;
    const origin = await database.origin();
    const epoch = origin.epoch + 1;
    const lostAfter = (formerEnd: number) => ({ ...origin, epoch, lineage: [{ epoch, firstSeq: 10_001, formerEnd }] });
    vi.spyOn(database, 'epoch', 'get').mockReturnValue(epoch);
    const found = vi.spyOn(database, 'origin').mockResolvedValue(lostAfter(1));
    // What it has mapped is lost; what the owner has stored is not.
    await expect(pair.found()).rejects.toMatchObject(NOT_OWNER);
    expect(await pair.found()).toEqual(['d1', 'd2']);
    found.mockResolvedValue(lostAfter(0));
    pair.reader.views.forget('db');
    await expect(pair.found()).rejects.toMatchObject(NOT_OWNER);
    await expect(pair.found()).rejects.toMatchObject(NOT_OWNER);
  });

  test('that is newer than the database as the reader has it waits for that', async () => {
    pair = await Pair.open();
    await pair.fixture.write(bodies(1));
    await pair.store();
    const group = await pair.reader.group(DESIGN);
    await pair.fixture.write(bodies(2));
    await pair.store();
    expect(pair.reader.database.updateSeq).toBe(1);
    expect(await idsOf(group, 'before')).toEqual(['d1', 'd2']);
    expect(pair.reader.database.updateSeq).toBe(2);
    group.release();
  });

  test('that was removed is closed although no one asks for it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    pair = await Pair.open();
    await pair.fixture.write(bodies(1));
    await pair.store();
    await pair.found();
    const { openFiles } = pair;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(pair.openFiles).toBe(openFiles);
    await pair.fixture.views.cleanup(pair.fixture.database);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(pair.openFiles).toBe((openFiles ?? 0) - 1);
    await expect(pair.found()).rejects.toMatchObject(NOT_OWNER);
  });

  test('leaves feeds, temporary views, sizes, compactions, clean-ups and builds to the owner', async () => {
    pair = await Pair.open();
    await pair.fixture.write(bodies(1));
    await pair.store();
    const { database, views } = pair.reader;
    const group = await pair.reader.group(DESIGN);
    expect(() => group.watch('n')).toThrow(expect.objectContaining(NOT_OWNER));
    await expect(group.info()).rejects.toMatchObject(NOT_OWNER);
    await expect(group.compact()).rejects.toMatchObject(NOT_OWNER);
    group.release();
    await expect(views.temporary(database, '{}')).rejects.toMatchObject(NOT_OWNER);
    await expect(views.cleanup(database)).rejects.toMatchObject(NOT_OWNER);
    // It is built by the owner without being asked.
    await views.build(database, DESIGN.id);
  });

  test('is polled once by queries that come soon after each other, and held only while it is used', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    pair = await Pair.open();
    await pair.fixture.write(bodies(1));
    await pair.store();
    await pair.found();
    const before = pair.polls.count;
    await vi.advanceTimersByTimeAsync(50);
    await pair.found();
    await pair.found();
    expect(pair.polls.count).toBe(before + 1);
    await pair.found('never');
    expect(pair.polls.count).toBe(before + 2);
    const { followers } = pair.file;
    expect(followers.whenPassed()).toBeDefined();
    const group = await pair.reader.group(DESIGN);
    const slow = await group.read();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(followers.whenPassed()).toBeDefined();
    slow.release();
    group.release();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(followers.whenPassed()).toBeUndefined();
    expect(await pair.found()).toEqual(['d1']);
    expect(followers.whenPassed()).toBeDefined();
  });
});

async function purge(database: StoredDatabase, id: string, rev: string): Promise<void> {
  await database.purge(new Map([[id as never, [rev as never]]]));
}
