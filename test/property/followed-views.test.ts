import { describe, expect, it } from 'vitest';
import { isDatabaseError } from '../../src/base/errors/database-error.ts';
import { systemClock } from '../../src/base/shared/clock.ts';
import { ActiveTasks } from '../../src/base/system/active-tasks.ts';
import { createConfig } from '../../src/core/config/config-store.ts';
import type { RevId } from '../../src/database/documents/contract.ts';
import type { StoredDatabase } from '../../src/database/store/stored-database.ts';
import type { ReduceOptions, ViewGroup, ViewIndexes, ViewReader } from '../../src/queries/views/contract.ts';
import { createViewIndexes } from '../../src/queries/views/view-indexes.ts';
import { FollowedViews } from '../support/followed-views.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { design, groupsOf, type Json, rowsOf } from '../support/view-fixture.ts';
import { Bench, id, put, TINY, TINY_PAGES } from '../unit/database/store/harness.ts';
import { createTestSandbox } from '../unit/queries/sandbox/quickjs-files.ts';

/**
 * Random histories of an owner, who writes, purges, updates, stores, compacts, removes and reopens indexes, and opens the database again, while two
 * readers query at random moments. Where a reader answers itself, its answer is the owner's, and stays the same while more happens.
 */
const SEEDS = Array.from({ length: 15 }, (_unused, index) => index + 1);
const STEPS = 90;

const map = 'function (doc) { (doc.k || []).forEach(function (key) { emit(key, doc.v); }); }';
const own = 'function (keys, values, rereduce) { return values.reduce(function (a, b) { return a + b; }, 0); }';
const DESIGNS = [
  design({ sum: { map, reduce: '_sum' }, count: { map, reduce: '_count' } }, {}, 'builtin'),
  design({ sum: { map, reduce: own }, stats: { map, reduce: '_stats' } }, {}, 'scripted'),
];
/** Nothing is stored by itself; leaves have a few rows. */
const SETTINGS = {
  flushRows: 7,
  stepRows: 3,
  idleMs: 1_000_000,
  checkpointMs: 1_000_000,
  turnMs: 1,
  cacheBytes: 2_000,
};

interface Kept {
  readonly reader: ViewReader;
  readonly group: ViewGroup;
  readonly query: ReduceOptions;
  readonly rows: unknown;
  /** How often indexes had been removed. */
  readonly removals: number;
}

class History {
  readonly #random: SeededRandom;
  readonly #bench = new Bench({ settings: TINY, supports: { ...TINY_PAGES, leafBytes: 250 } });
  readonly #readers: FollowedViews[] = [];
  readonly #kept: Kept[] = [];
  #database: StoredDatabase;
  #views: ViewIndexes;
  #removals = 0;
  answered = 0;

  private constructor(random: SeededRandom, bench: Bench, database: StoredDatabase) {
    this.#random = random;
    this.#bench = bench;
    this.#database = database;
    this.#views = this.#openViews();
  }

  static async begin(seed: number): Promise<History> {
    const bench = new Bench({ settings: TINY, supports: { ...TINY_PAGES, leafBytes: 250 } });
    const history = new History(new SeededRandom(seed), bench, await bench.open());
    for (let count = 0; count < 20; count++) await history.#write();
    for (let count = 0; count < 2; count++) await history.#follow();
    return history;
  }

  #openViews(): ViewIndexes {
    return createViewIndexes({
      ...{ store: this.#bench.store(), clock: systemClock, config: createConfig({}), log: this.#bench.log },
      ...{ tasks: new ActiveTasks(systemClock), sandbox: createTestSandbox(), settings: SETTINGS },
    });
  }

  async step(): Promise<void> {
    const chosen = this.#random.between(1, 100);
    if (chosen <= 40) return this.#write();
    if (chosen <= 42) return this.#purge();
    if (chosen <= 50) return this.#store();
    if (chosen <= 52) return this.#removeIndexes();
    if (chosen <= 55) return this.#reopenViews();
    if (chosen <= 58) return this.#reopenDatabase();
    if (chosen <= 60) return this.#replaceReader();
    if (chosen <= 95) return this.#query();
    return this.#checkKept();
  }

  async end(): Promise<void> {
    for (let count = 0; count < 6; count++) await this.#query();
    while (this.#kept.length > 0) await this.#checkKept();
    for (const reader of this.#readers) await reader.close();
    await this.#views.close();
  }

  async #write(): Promise<void> {
    const name = `doc-${this.#random.between(1, 40)}`;
    const rev = await this.#revOf(name);
    const keys = Array.from({ length: this.#random.between(0, 3) }, () => this.#key());
    const body = JSON.stringify({ k: keys, v: this.#random.between(-50, 50) });
    if (rev !== undefined && this.#random.chance(20))
      await put(this.#database, name, { rev, deleted: true, body: '{}' });
    else await put(this.#database, name, rev === undefined ? { body } : { rev, body });
  }

  #key(): Json {
    const scalar = (): Json => this.#random.oneOf([null, false, 1, 2, 3, 'a', 'B', 'ä', 'z'] as Json[]) ?? null;
    return this.#random.chance(40) ? [scalar(), scalar()] : scalar();
  }

  async #revOf(name: string): Promise<RevId | undefined> {
    const snapshot = this.#database.snapshot();
    try {
      const leaf = (await snapshot.document(id(name)))?.leaves[0];
      return leaf === undefined || leaf.deleted ? undefined : (`${leaf.generation}-${leaf.hash}` as RevId);
    } finally {
      snapshot.release();
    }
  }

  async #purge(): Promise<void> {
    const name = `doc-${this.#random.between(1, 40)}`;
    const rev = await this.#revOf(name);
    if (rev !== undefined) await this.#database.purge(new Map([[id(name), [rev]]]));
  }

  /** Stores all that the owner has of an index, in new pages. */
  async #store(): Promise<void> {
    const group = await this.#ownersGroup();
    if (this.#random.chance(80)) (await group.read()).release();
    await group.compact();
    group.release();
  }

  async #ownersGroup(which = this.#random.between(0, 1)): Promise<ViewGroup> {
    return this.#views.open(this.#database, this.#design(which));
  }

  #design(which: number) {
    const found = DESIGNS[which];
    if (found === undefined) throw new Error('no such design document');
    return found;
  }

  /** The design documents are stored nowhere, so none of their indexes is wanted. */
  async #removeIndexes(): Promise<void> {
    await this.#views.cleanup(this.#database);
    this.#removals += 1;
  }

  async #reopenViews(): Promise<void> {
    // With all that is in memory, or after its process was killed.
    if (this.#random.chance(60)) await this.#views.close();
    this.#views = this.#openViews();
  }

  async #reopenDatabase(): Promise<void> {
    if (this.#random.chance(50)) await this.#database.close();
    this.#database = await this.#bench.open();
  }

  async #follow(): Promise<void> {
    const settings = { ...SETTINGS, snapshotMaxAgeMs: 1_000_000 };
    this.#readers.push(await FollowedViews.open(this.#database, this.#bench.store(), { settings }));
  }

  async #replaceReader(): Promise<void> {
    while (this.#kept.length > 0) await this.#checkKept();
    await this.#readers.shift()?.close();
    await this.#follow();
  }

  async #query(): Promise<void> {
    const which = this.#random.between(0, 1);
    const query = this.#newQuery();
    const answer = await this.#answerOfReader(which, query);
    const group = await this.#ownersGroup(which);
    const reader = await group.read();
    if (answer !== undefined) expect(answer).toEqual(await readAll(reader, query));
    reader.release();
    group.release();
  }

  #newQuery(): ReduceOptions {
    const maybe = <T>(value: T): T | undefined => (this.#random.chance(40) ? value : undefined);
    return {
      ...{ start: maybe(this.#key()), end: maybe(this.#key()), descending: this.#random.chance(30) },
      ...{ keys: this.#random.chance(15) ? [this.#key(), this.#key()] : undefined },
      ...{ skip: this.#random.between(0, 3), limit: maybe(this.#random.between(0, 9)) },
      groupLevel: this.#random.oneOf([0, 1, 'exact'] as const),
    };
  }

  /** Undefined if it left the query to the owner. */
  async #answerOfReader(which: number, query: ReduceOptions): Promise<unknown> {
    const reader = this.#random.oneOf(this.#readers);
    let group: ViewGroup | undefined;
    try {
      group = await reader?.group(this.#design(which));
      const found = await group?.read();
      if (group === undefined || found === undefined) throw new Error('there is a reader');
      const rows = await readAll(found, query);
      this.answered += 1;
      if (this.#kept.length < 4 && this.#random.chance(20)) {
        this.#kept.push({ group, reader: found, query, rows, removals: this.#removals });
        group = undefined;
      } else found.release();
      return rows;
    } catch (error) {
      if (!isDatabaseError(error, 'not_owner')) throw error;
      return undefined;
    } finally {
      group?.release();
    }
  }

  /** What a response that is read slowly continues with. */
  async #checkKept(): Promise<void> {
    const kept = this.#kept.shift();
    if (kept === undefined) return;
    const { reader, group, query, rows, removals } = kept;
    const read = readAll(reader, query);
    // If its file is gone, the response breaks off.
    if (removals === this.#removals) expect(await read).toEqual(rows);
    else await read.catch((error: unknown) => expect(isDatabaseError(error, 'not_owner')).toBe(true));
    reader.release();
    group.release();
  }
}

async function readAll(reader: ViewReader, query: ReduceOptions): Promise<unknown> {
  return {
    ...{ seq: reader.updateSeq, total: reader.totalRows('sum') },
    ...{ rows: await rowsOf(reader, 'sum', query), groups: await groupsOf(reader, 'sum', query) },
  };
}

describe('readers of views during random histories', () => {
  it.each(SEEDS)('seed %i', async (seed) => {
    const history = await History.begin(seed);
    for (let step = 0; step < STEPS; step++) await history.step();
    await history.end();
    expect(history.answered).toBeGreaterThan(5);
  });
});
