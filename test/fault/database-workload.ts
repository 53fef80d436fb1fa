import { must } from '../../src/base/shared/assert.ts';
import type { StoredDatabase } from '../../src/database/store/stored-database.ts';
import {
  Bench,
  type BenchOptions,
  id,
  leavesOf,
  merge,
  put,
  rev,
  seeAll,
  TINY,
  TINY_PAGES,
  toWrite,
} from '../unit/database/store/harness.ts';

/**
 * A script of everything that a database does, each step one commit at most, and what can be seen after each step when
 * nothing goes wrong.
 */

export interface Step {
  readonly name: string;
  run(db: StoredDatabase): Promise<unknown>;
}

const NEW_EDITS = { newEdits: true, durability: 'relaxed' } as const;

async function winner(db: StoredDatabase, name: string): Promise<string> {
  const [leaf = ''] = await leavesOf(db, name);
  return leaf.slice(0, leaf.search(/[!=]/));
}

const text = (size: number, mark: string): string => `{"mark":"${mark}","t":"${'x'.repeat(size)}"}`;

function update(name: string, size: number): Step {
  return {
    name: `update ${name}`,
    run: async (db) => put(db, name, { rev: await winner(db, name), body: text(size, 'again') }),
  };
}

function create(name: string, size: number): Step {
  return { name: `create ${name}`, run: (db) => put(db, name, { body: text(size, name) }) };
}

function createMany(prefix: string, count: number, size: number): Step {
  const writes = Array.from({ length: count }, (_unused, index) =>
    toWrite(`${prefix}${index}`, { body: text(size, prefix) }),
  );
  return { name: `${count} documents`, run: (db) => db.write(writes, NEW_EDITS) };
}

const STEPS: readonly Step[] = [
  create('a', 20),
  createMany('many', 8, 60),
  create('large', 2_500),
  update('a', 90),
  { name: 'conflict', run: (db) => merge(db, 'a', { rev: '1-z', body: text(30, 'conflict') }) },
  { name: 'local', run: (db) => db.writeLocal(id('_local/x'), undefined, '{"n":1}', { durability: 'strict' }) },
  { name: 'security', run: (db) => db.setSecurity('{"admins":{}}') },
  update('many3', 300),
  {
    name: 'delete',
    run: async (db) => put(db, 'many5', { rev: await winner(db, 'many5'), deleted: true, body: '{}' }),
  },
  { name: 'limit', run: (db) => db.setRevsLimit(2) },
  update('a', 10),
  { name: 'purge', run: async (db) => db.purge(new Map([[id('many1'), [rev(await winner(db, 'many1'))]]])) },
  { name: 'compact', run: (db) => db.compact() },
  update('large', 2_200),
  { name: 'local again', run: (db) => db.writeLocal(id('_local/x'), '0-1', '{"n":2}', { durability: 'relaxed' }) },
  createMany('more', 6, 200),
  update('a', 40),
  update('more2', 40),
  { name: 'recreate', run: (db) => put(db, 'many5', { body: text(5, 'recreated') }) },
  { name: 'flush', run: (db) => db.flush() },
];

/** Twice over, so that there is a past to go wrong with. */
export const SCRIPT: readonly Step[] = [
  ...STEPS,
  ...['a', 'large', 'many3', 'more1', 'more4', 'many7'].map((name) => update(name, 150)),
  { name: 'compact again', run: (db) => db.compact() },
];

export function workBench(options: BenchOptions = {}): Bench {
  return new Bench({ settings: { ...TINY, cacheBytes: 3_000 }, supports: TINY_PAGES, ...options });
}

/** What can be seen, but for sequence numbers: those of interrupted runs differ. */
export async function look(db: StoredDatabase): Promise<unknown> {
  const { documents, changes, rows, locals, docCount, docDelCount } = await seeAll(db);
  const leaves = Object.fromEntries(Object.entries(documents).map(([name, document]) => [name, document.leaves]));
  const order = changes.map((change) => change.slice(change.indexOf(' ') + 1));
  const { security, revsLimit, purgeSeq } = db;
  return { leaves, order, rows, locals, docCount, docDelCount, security, revsLimit, purgeSeq };
}

/** What can be seen before the first step, and after each. */
export async function runUndisturbed(): Promise<readonly unknown[]> {
  const db = await workBench().open();
  const seen = [await look(db)];
  for (const step of SCRIPT) {
    await step.run(db);
    seen.push(await look(db));
  }
  await db.close();
  return seen;
}

/** The number of the step after which this can be seen, among `candidates`. */
export function stepOf(seen: readonly unknown[], found: unknown, candidates: readonly number[]): number | undefined {
  const text = JSON.stringify(found);
  return candidates.find((step) => JSON.stringify(must(seen[Math.min(step, seen.length - 1)])) === text);
}
