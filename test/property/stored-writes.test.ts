import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { DocId, RevId } from '../../src/database/documents/contract.ts';
import type { StoredDatabase } from '../../src/database/store/stored-database.ts';
import { Bench, put, rev, seeAll, TINY, TINY_PAGES } from '../unit/database/store/harness.ts';

/**
 * Whatever a database takes in can be stored: after each write, of any kind and size, come a crash, a checkpoint, a verification,
 * and another write. Pages are so small that a size of a few hundred bytes is what a megabyte is otherwise. Ids and hashes may be
 * longer than the interface takes, as earlier releases took them.
 */

interface Write {
  readonly kind: 'edit' | 'replicate' | 'delete' | 'local' | 'security' | 'limit' | 'purge' | 'compact';
  /** One of a few documents. */
  readonly document: number;
  /** In characters: of the id, the body, and each hash. */
  readonly idLength: number;
  readonly size: number;
  readonly hashLength: number;
  /** Revisions of an ancestry. */
  readonly depth: number;
  readonly text: string;
}

const length = fc.oneof({ weight: 3, arbitrary: fc.nat(60) }, fc.nat(1_500), fc.nat(9_000));
const write: fc.Arbitrary<Write> = fc.record({
  kind: fc.constantFrom(
    'edit',
    'edit',
    'replicate',
    'replicate',
    'delete',
    'local',
    'security',
    'limit',
    'purge',
    'compact',
  ),
  document: fc.nat(3),
  idLength: length,
  size: length,
  hashLength: fc.oneof(fc.constant(32), fc.integer({ min: 1, max: 2_500 })),
  depth: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 120 })),
  text: fc.constantFrom('x', 'é', '😀', '\\n'),
});

const SHORT_ID: Write = {
  ...{ kind: 'edit', document: 0, idLength: 0, size: 0 },
  hashLength: 32,
  depth: 1,
  text: 'x',
};
const LONG_ID: Write = { ...SHORT_ID, document: 3, idLength: 48, text: '\\n' };

const RELAXED = { newEdits: true, durability: 'relaxed' } as const;

function idOf({ document, idLength, text }: Write): DocId {
  return `${document}${text.repeat(idLength).slice(0, idLength * 2)}` as DocId;
}

async function currentRev(database: StoredDatabase, id: DocId): Promise<RevId | undefined> {
  const snapshot = database.snapshot();
  try {
    const leaf = (await snapshot.document(id))?.leaves[0];
    return leaf && (`${leaf.generation}-${leaf.hash}` as RevId);
  } finally {
    snapshot.release();
  }
}

async function apply(database: StoredDatabase, step: Write): Promise<void> {
  const id = idOf(step);
  const body = `{"t":"${step.text.repeat(step.size)}"}`;
  const known = await currentRev(database, id);
  if (step.kind === 'edit')
    await database.write([{ id, rev: known, deleted: false, body, revisions: undefined }], RELAXED);
  if (step.kind === 'delete')
    await database.write([{ id, rev: known, deleted: true, body: '{}', revisions: undefined }], RELAXED);
  if (step.kind === 'replicate') {
    const { depth, hashLength } = step;
    const ids = Array.from({ length: depth }, (_unused, index) => `${depth}-${index}`.padEnd(hashLength, 'f'));
    const given = `${depth}-${ids[0]}` as RevId;
    const revisions = { start: depth, ids };
    await database.write([{ id, rev: given, deleted: false, body, revisions }], { ...RELAXED, newEdits: false });
  }
  if (step.kind === 'local') {
    const local = `_local/${id}` as DocId;
    const former = await database.readLocal(local);
    await database.writeLocal(local, former?.rev, body, { durability: 'relaxed' });
  }
  if (step.kind === 'security') await database.setSecurity(body);
  if (step.kind === 'limit') await database.setRevsLimit(1 + step.depth);
  if (step.kind === 'purge' && known !== undefined && known.length < 120)
    await database.purge(new Map([[id, [rev(known)]]]));
  if (step.kind === 'compact') await database.compact();
}

async function expectWhole(database: StoredDatabase): Promise<void> {
  expect((await database.verify()).damage).toEqual([]);
}

test('every accepted write can be stored, and the writes after it', { timeout: 300_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(write, { minLength: 1, maxLength: 5 }), async (steps) => {
      let bench = new Bench({ settings: TINY, supports: TINY_PAGES });
      let database = await bench.open();
      await put(database, 'first');
      for (const step of steps) {
        await apply(database, step);
        const { updateSeq: _, ...seen } = await seeAll(database);
        const crashed = bench.crashed();
        database = await crashed.open();
        expect(await seeAll(database)).toMatchObject(seen);
        await expectWhole(database);
        const known = await currentRev(database, 'first' as DocId);
        await put(database, 'first', { body: `{"t":"${step.size}"}`, ...(known === undefined ? {} : { rev: known }) });
        await database.close();
        bench = crashed;
        database = await bench.open();
        await expectWhole(database);
        expect(bench.failures).toEqual([]);
      }
      await database.close();
    }),
    // The id is too long for the listing of a page that small.
    { numRuns: 60, examples: [[[LONG_ID, LONG_ID, SHORT_ID]]] },
  );
});
