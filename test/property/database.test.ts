import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isDatabaseError } from '../../src/base/errors/database-error.ts';
import { must } from '../../src/base/shared/assert.ts';
import type { DocumentWrite, Snapshot, WriteOutcome } from '../../src/database/store/contract.ts';
import type { StoredDatabase } from '../../src/database/store/stored-database.ts';
import { roundsOf } from '../support/long-runs.ts';
import {
  Bench,
  id,
  rev,
  type SeenDatabase,
  seeAll,
  showLeaf,
  TINY,
  TINY_PAGES,
  toWrite,
} from '../unit/database/store/harness.ts';

/** Random histories of one database against a model that knows nothing of pages, journals and trees. */

interface ModelNode {
  readonly rev: string;
  readonly deleted: boolean;
  readonly body: string;
  parent: string | undefined;
}

/** One document: its revisions by id, each with the parent that is known. Ancestors that were only named have no body. */
type ModelDocument = Map<string, ModelNode>;

function generationOf(one: string): number {
  return Number.parseInt(one, 10);
}

function byRank(left: ModelNode, right: ModelNode): number {
  if (left.deleted !== right.deleted) return left.deleted ? 1 : -1;
  const generations = generationOf(right.rev) - generationOf(left.rev);
  if (generations !== 0) return generations;
  return left.rev < right.rev ? 1 : -1;
}

class Model {
  readonly documents = new Map<string, ModelDocument>();
  /** Ids in the order of their latest change. */
  order: string[] = [];
  readonly locals = new Map<string, { count: number; body: string }>();
  purges = 0;

  leaves(name: string): ModelNode[] {
    const document = this.documents.get(name) ?? new Map<string, ModelNode>();
    const parents = new Set([...document.values()].map((node) => node.parent));
    return [...document.values()].filter((node) => !parents.has(node.rev)).sort(byRank);
  }

  /** What a new edit has to give: the revision that it follows (undefined: none), or that it conflicts. */
  parentOf(name: string, given: string | undefined): { parent: string | undefined } | 'conflict' {
    const leaves = this.leaves(name);
    const [winner] = leaves;
    if (given !== undefined) return leaves.some((leaf) => leaf.rev === given) ? { parent: given } : 'conflict';
    if (winner === undefined) return { parent: undefined };
    return winner.deleted ? { parent: winner.rev } : 'conflict';
  }

  add(name: string, path: readonly string[], deleted: boolean, body: string): void {
    const document = this.documents.get(name) ?? new Map<string, ModelNode>();
    this.documents.set(name, document);
    let isNews = false;
    for (const [index, one] of path.entries()) {
      const parent = path[index + 1];
      const known = document.get(one);
      if (known === undefined) {
        document.set(one, { rev: one, deleted: index === 0 && deleted, body: index === 0 ? body : '', parent });
        isNews = true;
      } else if (known.parent === undefined && parent !== undefined) {
        known.parent = parent;
        isNews = true;
      }
    }
    if (isNews) this.touch(name);
  }

  purge(name: string, leaf: string): void {
    const leaves = this.leaves(name).filter((node) => node.rev !== leaf);
    const document = must(this.documents.get(name));
    const kept = new Set<string>();
    for (const { rev: start } of leaves) {
      for (let at: string | undefined = start; at !== undefined; at = document.get(at)?.parent) kept.add(at);
    }
    for (const one of [...document.keys()]) if (!kept.has(one)) document.delete(one);
    this.purges++;
    this.touch(name);
    if (document.size > 0) return;
    this.documents.delete(name);
    this.order = this.order.filter((other) => other !== name);
  }

  touch(name: string): void {
    this.order = [...this.order.filter((other) => other !== name), name];
  }

  /** As `seeAll` must show it, but for the numbers. */
  seen() {
    const documents: Record<string, string[]> = {};
    for (const name of this.documents.keys()) {
      documents[name] = this.leaves(name).map((leaf) => showLeaf(leaf.rev, leaf.deleted, leaf.body));
    }
    const isDeleted = (name: string) => this.leaves(name)[0]?.deleted === true;
    const live = this.order.filter((name) => !isDeleted(name));
    return {
      documents,
      changes: this.order.map((name) => `${name}${isDeleted(name) ? ' deleted' : ''}`),
      rows: live.sort((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right))),
      locals: Object.fromEntries([...this.locals].map(([name, { count, body }]) => [name, `0-${count} ${body}`])),
      docCount: live.length,
      docDelCount: this.order.length - live.length,
    };
  }
}

function withoutNumbers({ documents, changes, rows, locals, docCount, docDelCount }: SeenDatabase) {
  const leaves = Object.fromEntries(Object.entries(documents).map(([name, document]) => [name, document.leaves]));
  const order = changes.map((change) => change.slice(change.indexOf(' ') + 1));
  return { documents: leaves, changes: order, rows, locals, docCount, docDelCount };
}

const name = fc.constantFrom('a', 'b', 'c', 'd/e', 'é', '😀', '\uffff', '_design/x', 'a\tb', 'f1', 'f2', 'f3', 'f4');
const bodySize = fc.constantFrom(0, 5, 40, 300, 700, 2_500);
const edit = fc.record({ name, leaf: fc.nat(4), deleted: fc.boolean(), size: bodySize, stale: fc.boolean() });
// A hash tells its whole ancestry, so that two paths never name different parents of one revision.
const merge = fc.record({
  name,
  hash: fc.string({ unit: fc.constantFrom('x', 'y'), minLength: 1, maxLength: 5 }),
  known: fc.integer({ min: 1, max: 5 }),
  deleted: fc.boolean(),
  size: bodySize,
});

type Edit = Readonly<{ name: string; leaf: number; deleted: boolean; size: number; stale: boolean }>;
type Merge = Readonly<{ name: string; hash: string; known: number; deleted: boolean; size: number }>;

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('edits' as const),
      edits: fc.array(edit, { minLength: 1, maxLength: 6 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('merges' as const),
      merges: fc.array(merge, { minLength: 1, maxLength: 6 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('purge' as const), name, leaf: fc.nat(4) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('local' as const),
      name: fc.constantFrom('_local/a', '_local/b'),
      deleted: fc.boolean(),
      size: bodySize,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('at once' as const),
      edits: fc.array(edit, { minLength: 2, maxLength: 8 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      { kind: 'compact' as const },
      { kind: 'verify' as const },
      { kind: 'snapshot' as const },
    ),
  },
  { weight: 2, arbitrary: fc.constantFrom({ kind: 'reopen' as const }, { kind: 'crash' as const }) },
);

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Runs the steps on both, and compares after each. */
class Run {
  readonly #bench: Bench;
  readonly #model = new Model();
  #db: StoredDatabase;
  #held: { snapshot: Snapshot; rows: readonly string[]; changes: readonly string[] } | undefined;
  #bodies = 0;
  #lastSeq = 0;

  static async start(): Promise<Run> {
    const bench = new Bench({ settings: { ...TINY, cacheBytes: 3_000 }, supports: TINY_PAGES });
    return new Run(bench, await bench.open());
  }

  private constructor(bench: Bench, db: StoredDatabase) {
    this.#bench = bench;
    this.#db = db;
  }

  async take(one: Step): Promise<void> {
    switch (one.kind) {
      case 'edits':
        return this.#edit(one.edits);
      case 'at once':
        return this.#editAtOnce(one.edits);
      case 'merges':
        return this.#merge(one.merges);
      case 'purge':
        return this.#purge(one.name, one.leaf);
      case 'local':
        return this.#writeLocal(one.name, one.deleted, one.size);
      case 'compact':
        return this.#db.compact();
      case 'verify':
        return this.#verify();
      case 'snapshot':
        return this.#hold();
      case 'reopen':
        this.#held?.snapshot.release();
        this.#held = undefined;
        await this.#db.close();
        this.#db = await this.#bench.open();
        return;
      case 'crash':
        // The old owner is just left alone; its snapshot goes with it.
        this.#held = undefined;
        this.#db = await this.#bench.open();
        return;
    }
  }

  #body(size: number): string {
    this.#bodies++;
    return size === 0 ? '{}' : `{"n":${this.#bodies},"t":"${'x'.repeat(size)}"}`;
  }

  #toWrite({ name: of, leaf, deleted, size, stale }: Edit): DocumentWrite {
    const leaves = this.#model.leaves(of);
    const given = stale ? '7-00000000000000000000000000000000' : leaves[leaf]?.rev;
    return toWrite(of, { deleted, body: this.#body(size), ...(given === undefined ? {} : { rev: given }) });
  }

  async #edit(edits: readonly Edit[]): Promise<void> {
    const writes = edits.map((one) => this.#toWrite(one));
    const outcomes = await this.#db.write(writes, { newEdits: true, durability: 'relaxed' });
    const before = new Map(writes.map((write) => [write.id, this.#model.leaves(write.id).map((leaf) => leaf.rev)]));
    const accepted = new Set<string>();
    for (const [index, write] of writes.entries()) {
      const outcome = must(outcomes[index]);
      // A request edits leaves that were there before it, each once; without a revision only what it has not edited yet.
      const isTaken = write.rev === undefined ? accepted.has(write.id) : !before.get(write.id)?.includes(write.rev);
      if (isTaken) expect(outcome).toMatchObject({ ok: false, error: { code: 'conflict' } });
      else this.#expectEdit(write, outcome);
      if (outcome.ok) accepted.add(write.id);
    }
  }

  async #editAtOnce(edits: readonly Edit[]): Promise<void> {
    const writes = edits.map((one) => this.#toWrite(one));
    const all = await Promise.all(
      writes.map((write) => this.#db.write([write], { newEdits: true, durability: 'relaxed' })),
    );
    for (const [index, write] of writes.entries()) this.#expectEdit(write, must(all[index]?.[0]));
  }

  #expectEdit(write: DocumentWrite, outcome: WriteOutcome): void {
    const expected = this.#model.parentOf(write.id, write.rev);
    if (expected === 'conflict') {
      expect(outcome).toMatchObject({ ok: false, error: { code: 'conflict' } });
      return;
    }
    if (!outcome.ok) throw outcome.error;
    const { parent } = expected;
    expect(generationOf(outcome.rev)).toBe(parent === undefined ? 1 : generationOf(parent) + 1);
    this.#model.add(write.id, parent === undefined ? [outcome.rev] : [outcome.rev, parent], write.deleted, write.body);
  }

  async #merge(merges: readonly Merge[]): Promise<void> {
    const writes = merges.map(({ name: of, hash, known, deleted, size }) => {
      const ids = Array.from({ length: Math.min(known, hash.length) }, (_unused, index) =>
        hash.slice(0, hash.length - index),
      );
      return toWrite(of, { rev: `${hash.length}-${hash}`, ids, deleted, body: this.#body(size) });
    });
    const outcomes = await this.#db.write(writes, { newEdits: false, durability: 'relaxed' });
    expect(outcomes.every((outcome) => outcome.ok)).toBe(true);
    for (const { id: of, revisions, deleted, body } of writes) {
      this.#model.add(
        of,
        must(revisions).ids.map((hash) => `${hash.length}-${hash}`),
        deleted,
        body,
      );
    }
  }

  async #purge(of: string, leaf: number): Promise<void> {
    const chosen = this.#model.leaves(of)[leaf]?.rev ?? '9-unknown';
    const { purged, purgeSeq } = await this.#db.purge(new Map([[id(of), [rev(chosen)]]]));
    if (chosen === '9-unknown') expect(purged.size).toBe(0);
    else this.#model.purge(of, chosen);
    expect(purgeSeq).toBe(this.#model.purges);
  }

  async #writeLocal(of: string, deleted: boolean, size: number): Promise<void> {
    const current = this.#model.locals.get(of);
    const given = current === undefined ? undefined : `0-${current.count}`;
    const body = deleted ? undefined : this.#body(size);
    const written = await this.#db.writeLocal(id(of), given, body, { durability: 'relaxed' });
    if (body === undefined) this.#model.locals.delete(of);
    else this.#model.locals.set(of, { count: (current?.count ?? 0) + 1, body });
    expect(written).toBe(body === undefined ? '0-0' : `0-${(current?.count ?? 0) + 1}`);
  }

  async #verify(): Promise<void> {
    expect((await this.#db.verify()).damage).toEqual([]);
  }

  /** Looks through the snapshot that was taken some steps ago, and takes another one. */
  async #hold(): Promise<void> {
    if (this.#held !== undefined) {
      const { snapshot, rows, changes } = this.#held;
      const [seenRows, seenChanges]: [string[], string[]] = [[], []];
      for await (const batch of snapshot.rows({})) {
        const records = await Promise.all(batch.map((row) => row.record()));
        const bodies = await snapshot.bodies(records.map(({ leaves }) => must(leaves[0])));
        for (const [index, row] of batch.entries()) seenRows.push(`${row.id} ${row.rev} ${bodies[index]}`);
      }
      for await (const batch of snapshot.changes({ since: 0 })) for (const change of batch) seenChanges.push(change.id);
      expect([seenRows, seenChanges]).toEqual([rows, changes]);
      snapshot.release();
    }
    const rows = this.#model.seen().rows.map((of) => {
      const winner = must(this.#model.leaves(of)[0]);
      return `${of} ${winner.rev} ${winner.body}`;
    });
    this.#held = { snapshot: this.#db.snapshot(), rows, changes: [...this.#model.order] };
  }

  async compare(): Promise<void> {
    const seen = await seeAll(this.#db);
    expect(withoutNumbers(seen)).toEqual(this.#model.seen());
    const numbers = seen.changes.map((change) => Number.parseInt(change, 10));
    expect(numbers).toEqual([...new Set(numbers)].sort((left, right) => left - right));
    for (const [index, change] of seen.changes.entries()) {
      const of = change.slice(change.indexOf(' ') + 1).replace(/ deleted$/, '');
      expect(seen.documents[of]?.seq).toBe(numbers[index]);
    }
    expect(seen.updateSeq).toBeGreaterThanOrEqual(Math.max(this.#lastSeq, ...numbers));
    this.#lastSeq = seen.updateSeq;
    expect(this.#db.purgeSeq).toBe(this.#model.purges);
  }

  async finish(): Promise<void> {
    await this.#hold();
    this.#held?.snapshot.release();
    await this.#verify();
    await this.#db.close();
    this.#db = await this.#bench.open();
    await this.compare();
    await this.#verify();
    await this.#db.compact();
    await this.compare();
    await this.#verify();
    await this.#db.close();
    // Owners that were left alone may have found out.
    const failures = this.#bench.failures.filter((error) => !isDatabaseError(error, 'storage_fenced'));
    expect(failures).toEqual([]);
  }
}

describe('any history of a database', () => {
  test('matches a simple model after every step, and leaves no damage', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 60, size: '+1' }), async (steps) => {
        const run = await Run.start();
        for (const one of steps) {
          await run.take(one);
          await run.compare();
        }
        await run.finish();
      }),
      { numRuns: roundsOf(80, 200) },
    );
  }, 300_000);
});
