import { describe, expect, it } from 'vitest';
import { isDatabaseError } from '../../src/base/errors/database-error.ts';
import type { Snapshot } from '../../src/database/store/contract.ts';
import type { FollowedDatabase } from '../../src/database/store/following/followed-database.ts';
import type { StoredDatabase } from '../../src/database/store/stored-database.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import {
  Bench,
  id,
  merge,
  put,
  type SeenDatabase,
  seeAll,
  settle,
  TINY,
  TINY_PAGES,
} from '../unit/database/store/harness.ts';

/**
 * Random histories of an owner, who writes, checkpoints, compacts, closes, and crashes, while followers refresh at random moments and keep snapshots.
 * After each refresh a follower has exactly what the owner has; a snapshot keeps exactly what it had.
 */
const SEEDS = Array.from({ length: 40 }, (_unused, index) => index + 1);
const STEPS = 120;

interface Kept {
  readonly followed: FollowedDatabase;
  readonly snapshot: Snapshot;
  readonly seen: SeenDatabase;
}

class History {
  readonly #random: SeededRandom;
  readonly #bench = new Bench({ settings: TINY, supports: TINY_PAGES });
  readonly #followers: FollowedDatabase[] = [];
  #kept: Kept[] = [];
  #owner: StoredDatabase;

  private constructor(random: SeededRandom, owner: StoredDatabase, bench: Bench) {
    this.#random = random;
    this.#owner = owner;
    this.#bench = bench;
  }

  static async begin(seed: number): Promise<History> {
    const bench = new Bench({ settings: TINY, supports: TINY_PAGES });
    return new History(new SeededRandom(seed), await bench.open(), bench);
  }

  async step(): Promise<void> {
    const chosen = this.#random.between(1, 100);
    if (chosen <= 55) return this.#write();
    if (chosen <= 60) return this.#writeLocal();
    if (chosen <= 63) return this.#purge();
    if (chosen <= 66) return this.#owner.compact();
    if (chosen <= 69) return this.#reopen();
    if (chosen <= 72) return this.#follow();
    if (chosen <= 90) return this.#refresh();
    if (chosen <= 95) return this.#keep();
    return this.#check();
  }

  async end(): Promise<void> {
    for (const { snapshot, seen } of this.#kept) {
      expect(await seeAll({ snapshot: () => snapshot })).toEqual(seen);
    }
    for (const followed of this.#followers) {
      await followed.refresh();
      expect(await seeAll(followed)).toEqual(await seeAll(this.#owner));
      await followed.close();
    }
    // Owners that were left behind find that out.
    const failures = this.#bench.failures.filter((failure) => !isDatabaseError(failure, 'storage_fenced'));
    expect(failures).toEqual([]);
  }

  async #write(): Promise<void> {
    const name = `doc-${this.#random.between(1, 25)}`;
    const body = JSON.stringify({ text: 'x'.repeat(this.#random.chance(20) ? this.#random.between(300, 1_500) : 10) });
    const current = this.#owner.snapshot();
    const record = await current.document(id(name));
    const leaf = record?.leaves[0];
    current.release();
    const rev = leaf === undefined ? undefined : `${leaf.generation}-${leaf.hash}`;
    if (this.#random.chance(15)) {
      await merge(this.#owner, name, { rev: `1-${this.#random.hexDigits(32)}`, body });
    } else if (rev !== undefined && leaf?.deleted !== true && this.#random.chance(20)) {
      await put(this.#owner, name, { rev, deleted: true, body: '{}' });
    } else await put(this.#owner, name, rev === undefined || leaf?.deleted ? { body } : { rev, body });
  }

  async #writeLocal(): Promise<void> {
    const name = id(`_local/point-${this.#random.between(1, 4)}`);
    const { rev } = (await this.#owner.readLocal(name)) ?? {};
    const body = this.#random.chance(20) && rev !== undefined ? undefined : `{"n":${this.#random.between(1, 999)}}`;
    await this.#owner.writeLocal(name, rev, body, { durability: 'relaxed' });
  }

  async #purge(): Promise<void> {
    const name = id(`doc-${this.#random.between(1, 25)}`);
    const snapshot = this.#owner.snapshot();
    const record = await snapshot.document(name);
    snapshot.release();
    const leaf = record?.leaves[0];
    if (leaf === undefined) return;
    await this.#owner.purge(new Map([[name, [`${leaf.generation}-${leaf.hash}` as never]]])).catch(() => undefined);
  }

  /** Another owner takes over, after the former one was closed or has just been left behind. */
  async #reopen(): Promise<void> {
    if (this.#random.chance(50)) await this.#owner.close();
    this.#owner = await this.#bench.open();
  }

  async #follow(): Promise<void> {
    if (this.#followers.length < 4) this.#followers.push(await this.#bench.follow());
    else await this.#close(this.#followers.shift());
  }

  async #close(followed: FollowedDatabase | undefined): Promise<void> {
    this.#kept = this.#kept.filter((kept) => kept.followed !== followed);
    await followed?.close();
  }

  async #refresh(): Promise<void> {
    const followed = this.#random.oneOf(this.#followers);
    await followed?.refresh();
    if (followed !== undefined) expect(await seeAll(followed)).toEqual(await seeAll(this.#owner));
  }

  async #keep(): Promise<void> {
    const followed = this.#random.oneOf(this.#followers.slice(-2));
    if (followed === undefined || this.#kept.length >= 5) return;
    const snapshot = followed.snapshot();
    this.#kept.push({ followed, snapshot, seen: await seeAll({ snapshot: () => stay(snapshot) }) });
  }

  async #check(): Promise<void> {
    await settle();
    const kept = this.#kept.shift();
    if (kept === undefined) return;
    expect(await seeAll({ snapshot: () => stay(kept.snapshot) })).toEqual(kept.seen);
    kept.snapshot.release();
  }
}

/** The same snapshot, which `seeAll` does not release. */
function stay(snapshot: Snapshot): Snapshot {
  return new Proxy(snapshot, {
    get: (target, key) => {
      if (key === 'release') return () => undefined;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

describe('followers of random histories', () => {
  it.each(SEEDS)('seed %i', async (seed) => {
    const history = await History.begin(seed);
    for (let step = 0; step < STEPS; step++) await history.step();
    await history.end();
  });
});
