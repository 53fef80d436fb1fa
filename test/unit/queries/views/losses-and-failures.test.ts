import { expect, test, vi } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { must } from '../../../../src/base/shared/assert.ts';
import { systemClock, systemRandom } from '../../../../src/base/shared/clock.ts';
import { ActiveTasks } from '../../../../src/base/system/active-tasks.ts';
import { silentLog } from '../../../../src/base/system/log.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import type { DocId, RevId } from '../../../../src/database/documents/contract.ts';
import { createRevisionHasher } from '../../../../src/database/documents/revisions/revision-hash.ts';
import { openDatabase } from '../../../../src/database/store/open-database.ts';
import { defaultSettings } from '../../../../src/database/store/settings.ts';
import type { StoredDatabase } from '../../../../src/database/store/stored-database.ts';
import type { MapperFactory, ViewIndexes } from '../../../../src/queries/views/contract.ts';
import { createViewIndexes } from '../../../../src/queries/views/view-indexes.ts';
import { createMemoryPageStore, MemoryMedium } from '../../../../src/storage/memory-page-store.ts';
import type { PageStore } from '../../../../src/storage/page-store.ts';
import { patient } from '../../../support/patience.ts';
import { design, rowsOf } from '../../../support/view-fixture.ts';

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

class World {
  readonly medium: MemoryMedium;
  dirtyBytes = 1_000;
  /** Files whose next commits fail, by how many go through before. */
  failing: 'none' | 'database' | 'index' = 'none';
  commitsLeft = 0;
  /** How often an index was stored, or tried to be. */
  indexCommits = 0;
  /** Called for each commit that fails. */
  onFailure: () => void = () => undefined;
  /** How long an index rests before it is stored. */
  idleMs = 3;
  /** What maps wait for. */
  gate: Promise<void> | undefined;
  onMap: () => void = () => undefined;
  readonly #revs = new Map<string, RevId>();
  #parts: { readonly database: StoredDatabase; readonly views: ViewIndexes } | undefined;

  constructor(medium = new MemoryMedium()) {
    this.medium = medium;
  }

  async open(): Promise<{ readonly database: StoredDatabase }> {
    const store = this.#store();
    const exists = (await store.list()).includes('db.1');
    const database = await openDatabase({
      name: 'db',
      file: await store.open('db.1', exists ? 'open' : 'create'),
      supports: store.supports,
      clock: systemClock,
      random: systemRandom,
      log: silentLog,
      hasher: await createRevisionHasher(),
      settings: { ...defaultSettings, snapshotMaxAgeMs: 10 },
      onFailure: () => undefined,
    });
    const views = createViewIndexes({
      store,
      clock: systemClock,
      config: createConfig({}),
      log: silentLog,
      tasks: new ActiveTasks(systemClock),
      mappers: { ids: this.#mapper() },
      settings: { idleMs: this.idleMs, dirtyBytes: this.dirtyBytes, checkpointMs: 1_000_000 },
    });
    this.#parts = { database, views };
    return this.#parts;
  }

  #store(): PageStore {
    const store = createMemoryPageStore({ medium: this.medium });
    return {
      supports: { ...store.supports, leafBytes: 300 },
      list: () => store.list(),
      open: async (name, mode) => {
        const file = await store.open(name, mode);
        const commit = file.commit.bind(file);
        file.commit = async (parts) => {
          if (name !== 'db.1') this.indexCommits += 1;
          if (this.failing === (name === 'db.1' ? 'database' : 'index') && this.commitsLeft-- <= 0) {
            this.onFailure();
            throw new DatabaseError('storage_full', 'The test disk is full now');
          }
          await commit(parts);
        };
        return file;
      },
      destroy: (file) => store.destroy(file),
      close: () => store.close(),
    };
  }

  #mapper(): MapperFactory {
    const map = async (documents: readonly string[]) => {
      this.onMap();
      await this.gate;
      const ids = documents.map((text) => (JSON.parse(text) as { _id: string })._id);
      return [{ counts: ids.map(() => 1), keys: ids.map((id) => JSON.stringify(id)), values: ids.map(() => '1') }];
    };
    return { open: () => ({ batchSize: 5, map, release: () => undefined }) };
  }

  get database() {
    return must(this.#parts).database;
  }

  async write(from: number, to: number): Promise<void> {
    const ids = Array.from({ length: to - from }, (_unused, index) => idOf(from + index));
    const writes = ids.map((id) => ({ id, rev: this.#revs.get(id), deleted: false, body: '{"n":1}' }));
    for (const outcome of await this.database.write(writes, { newEdits: true, durability: 'relaxed' })) {
      if (!outcome.ok) throw outcome.error;
      this.#revs.set(outcome.id, outcome.rev);
    }
  }

  revOf(id: string): RevId {
    return must(this.#revs.get(id));
  }

  async group() {
    return must(this.#parts).views.open(this.database, design({ v: { map: 'id' } }, { language: 'ids' }));
  }

  /** What a query of the whole view shows. */
  async ids(): Promise<string[]> {
    const group = await this.group();
    try {
      const reader = await group.read();
      const rows = await rowsOf(reader, 'v');
      reader.release();
      return rows.map(([id]) => id);
    } finally {
      group.release();
    }
  }

  get index() {
    return must([...this.medium.files].find(([name]) => name !== 'db.1'));
  }

  async close(): Promise<void> {
    await must(this.#parts).views.close();
    await this.database.close();
  }
}

function idOf(number: number): DocId {
  return `d${String(number).padStart(3, '0')}` as DocId;
}

test('a failed compaction leaves none of its pages', async () => {
  const world = new World();
  await world.open();
  await world.write(0, 300);
  await world.ids();
  await pause(30);
  const group = await world.group();
  await group.compact();
  const before = world.index[1].pages.size;
  world.failing = 'index';
  world.commitsLeft = 5;
  await expect(group.compact()).rejects.toMatchObject({ code: 'storage_full' });
  world.failing = 'none';
  await world.write(0, 1);
  await world.ids();
  await vi.waitFor(() => expect(world.index[1].pages.size).toBeLessThan(before + 3), patient);
  group.release();
  await world.close();
});

test('a document purged during an update with a revoked snapshot has no rows in later queries', async () => {
  const world = new World();
  const { database } = await world.open();
  await world.write(0, 100);
  expect((await world.ids()).length).toBe(100);
  await world.write(100, 200);
  let go: () => void = () => undefined;
  world.gate = new Promise((resolve) => {
    go = resolve;
  });
  const hasBegun = new Promise<void>((resolve) => {
    world.onMap = resolve;
  });
  const first = world.ids();
  await hasBegun;
  await pause(20);
  await database.purge(new Map([[idOf(5), [world.revOf(idOf(5))]]]));
  await database.compact();
  const second = world.ids();
  await pause(5);
  world.gate = undefined;
  go();
  await first;
  expect(await second).not.toContain(idOf(5));
  await world.close();
});

test('an index drops changes that its database lost, even if the disk was too full to record the loss', async () => {
  const world = new World();
  await world.open();
  await world.write(0, 10);
  const early = world.medium.clone();
  await world.write(10, 20);
  expect((await world.ids()).length).toBe(20);
  await world.close();
  // A power cut took the database's last moments; the index had been stored.
  const [name, file] = world.index;
  for (const isUsedWhileFull of [true, false]) {
    const again = new World(early.clone());
    again.medium.files.set(name, { ...file, journal: new Map(file.journal), pages: new Map(file.pages) });
    again.failing = 'database';
    await again.open();
    again.failing = 'none';
    if (isUsedWhileFull) expect(await again.ids()).toHaveLength(10);
    else await again.write(30, 31);
    await again.close();
    const third = new World(again.medium);
    await third.open();
    expect(await third.ids()).toHaveLength(isUsedWhileFull ? 10 : 11);
    await third.close();
  }
});

/** Whose index is not stored yet, but will be when its next update has begun. */
async function restingWorld(): Promise<World> {
  for (let idleMs = 150; ; idleMs *= 2) {
    const world = new World();
    world.dirtyBytes = 2 ** 20;
    world.idleMs = idleMs;
    await world.open();
    await world.write(0, 100);
    await world.ids();
    await world.write(100, 200);
    if (world.indexCommits === 0) return world;
    // A busy machine was slower than that.
    await world.close();
  }
}

test("a caller that waits for an index which another caller reopens isn't told that it was deleted", async () => {
  const world = await restingWorld();
  world.failing = 'index';
  const hasFailed = new Promise<void>((resolve) => {
    world.onFailure = resolve;
  });
  let go: () => void = () => undefined;
  world.gate = new Promise((resolve) => {
    go = resolve;
  });
  const first = world.ids();
  first.catch(() => undefined);
  await hasFailed;
  await pause(5);
  const second = world.ids();
  await pause(10);
  world.failing = 'none';
  world.gate = undefined;
  go();
  expect(await second).toHaveLength(200);
  await expect(first).rejects.toMatchObject({ code: 'cancelled' });
  await world.close();
});
