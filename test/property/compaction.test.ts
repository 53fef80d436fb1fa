import fc from 'fast-check';
import { expect, test } from 'vitest';
import { must } from '../../src/base/shared/assert.ts';
import { pathOf } from '../../src/database/documents/revisions/revision-tree.ts';
import type { StoredDatabase } from '../../src/database/store/stored-database.ts';
import { Bench, id, seeAll, TINY, TINY_PAGES, toWrite } from '../unit/database/store/harness.ts';

/**
 * Compactions between and beside any writes, with a revisions limit that goes up and down, and crashes: what a compaction gives up is gone
 * after it, and all that can be seen of leaves stays as it was.
 */

const NAMES = ['a', 'b', 'c', 'd', 'e'];
const name = fc.constantFrom(...NAMES);
const isEmpty = fc.boolean();

const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('edit' as const),
      name,
      leaf: fc.nat(3),
      deleted: fc.boolean(),
      isEmpty,
    }),
  },
  {
    weight: 3,
    // A hash tells its whole ancestry, so that two paths never name different parents of one revision.
    arbitrary: fc.record({
      kind: fc.constant('merge' as const),
      name,
      hash: fc.string({ unit: fc.constantFrom('x', 'y'), minLength: 1, maxLength: 6 }),
      known: fc.integer({ min: 1, max: 6 }),
      isEmpty,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('limit' as const), limit: fc.integer({ min: 1, max: 6 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('compact' as const), isAwaited: fc.boolean() }) },
  { weight: 2, arbitrary: fc.constantFrom({ kind: 'crash' as const }, { kind: 'reopen' as const }) },
);

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

class Run {
  readonly #bench = new Bench({ settings: { ...TINY, cacheBytes: 3_000 }, supports: TINY_PAGES });
  #db: StoredDatabase | undefined;
  #bodies = 0;
  #compaction: Promise<void> = Promise.resolve();

  async start(): Promise<void> {
    this.#db = await this.#bench.open();
  }

  async take(one: Step): Promise<void> {
    const db = must(this.#db);
    switch (one.kind) {
      case 'edit': {
        const leaves = await this.#leaves(one.name);
        const leaf = leaves[one.leaf % Math.max(1, leaves.length)];
        const rev = leaf === undefined ? {} : { rev: `${leaf.generation}-${leaf.hash}` };
        const write = toWrite(one.name, { ...rev, deleted: one.deleted, body: this.#body(one.isEmpty) });
        const [outcome] = await db.write([write], { newEdits: true, durability: 'relaxed' });
        expect(outcome?.ok).toBe(true);
        return;
      }
      case 'merge': {
        const { hash, known } = one;
        const ids = Array.from({ length: Math.min(known, hash.length) }, (_, index) =>
          hash.slice(0, hash.length - index),
        );
        const write = toWrite(one.name, { rev: `${hash.length}-${hash}`, ids, body: this.#body(one.isEmpty) });
        await db.write([write], { newEdits: false, durability: 'relaxed' });
        return;
      }
      case 'limit':
        return db.setRevsLimit(one.limit);
      case 'compact':
        this.#compaction = db.compact();
        this.#compaction.catch(() => undefined);
        if (one.isAwaited) await this.#compactWholly();
        return;
      default:
        return this.#openAgain(one.kind === 'reopen');
    }
  }

  async #leaves(of: string) {
    const snapshot = must(this.#db).snapshot();
    const record = await snapshot.document(id(of));
    snapshot.release();
    return record?.leaves ?? [];
  }

  #body(empty: boolean): string {
    return empty ? '{}' : `{"n":${this.#bodies++},"t":"${'x'.repeat(60)}"}`;
  }

  /** The one that runs may have begun before the last writes. */
  async #compactWholly(): Promise<void> {
    const db = must(this.#db);
    await this.#compaction;
    const before = await seeAll(db);
    await db.compact();
    expect(await seeAll(db)).toEqual(before);
    const snapshot = db.snapshot();
    for (const of of NAMES) {
      const leaves = (await snapshot.document(id(of)))?.leaves ?? [];
      const [only] = leaves;
      if (leaves.length === 1) expect(pathOf(must(only)).ids.length).toBeLessThanOrEqual(db.revsLimit);
      for (const leaf of leaves) {
        for (let node = leaf.parent; node !== undefined; node = node.parent) expect(node.body).toBeUndefined();
      }
    }
    snapshot.release();
    expect((await db.verify()).damage).toEqual([]);
  }

  async #openAgain(inOrder: boolean): Promise<void> {
    const before = await seeAll(must(this.#db));
    // After a crash the old owner is left alone.
    if (inOrder) await this.#db?.close();
    this.#compaction = Promise.resolve();
    this.#db = await this.#bench.open();
    const after = await seeAll(this.#db);
    expect(leavesIn(after.documents)).toEqual(leavesIn(before.documents));
  }

  async end(): Promise<void> {
    await this.#compactWholly();
    await this.#db?.close();
  }
}

function leavesIn(documents: Readonly<Record<string, { readonly leaves: readonly string[] }>>) {
  return Object.fromEntries(Object.entries(documents).map(([of, { leaves }]) => [of, leaves]));
}

test('a compaction frees what it should, and nothing else, whatever happens meanwhile', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40, size: 'max' }), async (steps) => {
      const run = new Run();
      await run.start();
      for (const one of steps) await run.take(one);
      await run.end();
    }),
    { numRuns: 100 },
  );
}, 300_000);
