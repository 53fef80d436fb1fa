import { describe, expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import type { Snapshot, StoredNode } from '../../../../src/database/store/contract.ts';
import type { StoredDatabase } from '../../../../src/database/store/stored-database.ts';
import { Bench, id, put, toWrite } from './harness.ts';

/** Reads that hold no more than they have to, whatever documents there are. */
const names = (count: number) => Array.from({ length: count }, (_unused, n) => id(`d${n}`));

async function withSnapshot<T>(db: StoredDatabase, use: (snapshot: Snapshot) => Promise<T>): Promise<T> {
  const snapshot = db.snapshot();
  try {
    return await use(snapshot);
  } finally {
    snapshot.release();
    await db.close();
  }
}

/** A document with so many conflicts. */
async function tear(db: StoredDatabase, name: string, count: number): Promise<void> {
  const writes = Array.from({ length: count }, (_unused, n) => toWrite(name, { rev: `1-${`${n}`.padStart(32, '0')}` }));
  await db.write(writes, { newEdits: false, durability: 'relaxed' });
}

async function winnerOf(snapshot: Snapshot, name: string): Promise<StoredNode> {
  const record = await snapshot.document(id(name));
  return must(record?.leaves[0]);
}

describe('batches of documents', () => {
  test('are in the order of the ids, including missing and repeated ids', async () => {
    const db = await new Bench().open();
    for (const name of names(450)) await put(db, name, { body: '{}' });
    await withSnapshot(db, async (snapshot) => {
      const asked = [...names(450).reverse(), undefined, id('none'), id('d1'), id('d1')];
      const found: (string | undefined)[] = [];
      let batches = 0;
      for await (const records of snapshot.documentBatches(asked)) {
        found.push(...records.map((record) => record?.id));
        batches += 1;
      }
      expect(found).toEqual(asked.map((each) => (each === id('none') ? undefined : each)));
      expect(batches).toBeGreaterThan(1);
    });
  });

  test('share one record of a document', async () => {
    const db = await new Bench().open();
    await put(db, 'a', { body: '{}' });
    await withSnapshot(db, async (snapshot) => {
      for await (const [first, second] of snapshot.documentBatches([id('a'), id('a')])) expect(first).toBe(second);
    });
  });
});

describe('a body read in pieces', () => {
  const TEXTS = [
    '{}',
    '{"a":1}',
    `{"text":"${'x'.repeat(300_000)}"}`,
    // Of one to four bytes a character, over the edges of pieces and pages.
    `{"text":"${'€a😀ü'.repeat(300_000)}"}`,
  ];

  test.each(TEXTS.map((text) => [text.length, text]))('of %i characters has its text', async (_length, text) => {
    const bench = new Bench();
    const db = await bench.open();
    await put(db, 'doc', { body: text });
    await withSnapshot(db, async (snapshot) => {
      const pieces: string[] = [];
      for await (const piece of snapshot.bodyPieces(await winnerOf(snapshot, 'doc'))) pieces.push(piece);
      expect(pieces.join('') === text).toBe(true);
      for (const piece of pieces) {
        expect(piece.length).toBeLessThanOrEqual(Math.max(262_144, 65_536));
        expect(/[\ud800-\udbff]$/.test(piece)).toBe(false);
      }
    });
  });
});

test('simultaneous reads of a document with thousands of revisions share its record', async () => {
  const db = await new Bench().open();
  await tear(db, 'torn', 2_000);
  await withSnapshot(db, async (snapshot) => {
    const [first, second] = await Promise.all([snapshot.document(id('torn')), snapshot.document(id('torn'))]);
    expect(first?.leaves.length).toBe(2_000);
    expect(first).toBe(second);
    expect(await snapshot.document(id('torn'))).toBe(first);
  });
});
