import { describe, expect, test } from 'vitest';
import { Bench, leavesOf, NEW_EDITS, put, seeAll, toWrite } from './harness.ts';
import { FIRST, SECOND } from './known-revisions.ts';

describe('a batch', () => {
  test('returns one outcome per write, in order, and of two writes of one leaf the second conflicts', async () => {
    const db = await new Bench().open();
    const writes = [toWrite('b'), toWrite('a'), toWrite('b', { body: '{"n":2}' }), toWrite('c', { rev: FIRST })];
    const outcomes = await db.write(writes, NEW_EDITS);
    expect(outcomes.map((outcome) => [outcome.id, outcome.ok ? outcome.rev : outcome.error.code])).toEqual([
      ['b', FIRST],
      ['a', FIRST],
      ['b', 'conflict'],
      ['c', 'conflict'],
    ]);
    expect((await seeAll(db)).changes).toEqual(['1 b', '2 a']);
    await db.close();
  });

  test('has a conflict also if the second write names the result of the first, or follows its deletion', async () => {
    const db = await new Bench().open();
    const writes = [toWrite('a'), toWrite('a', { rev: FIRST }), toWrite('b', { deleted: true }), toWrite('b')];
    const outcomes = await db.write(writes, NEW_EDITS);
    expect(outcomes.map((outcome) => outcome.ok || outcome.error.code)).toEqual([true, 'conflict', true, 'conflict']);
    expect((await seeAll(db)).changes).toEqual(['1 a', '2 b deleted']);
    await db.close();
  });

  test('has one error for all of its conflicts', async () => {
    const db = await new Bench().open();
    await db.write([toWrite('a'), toWrite('b')], NEW_EDITS);
    const outcomes = await db.write([toWrite('a'), toWrite('b'), toWrite('c')], NEW_EDITS);
    expect(outcomes.map(({ ok }) => ok)).toEqual([false, false, true]);
    const errors = new Set(outcomes.map((outcome) => (outcome.ok ? undefined : outcome.error)));
    // And undefined for the one that was written.
    expect(errors.size).toBe(2);
    await db.close();
  });

  test('edits each leaf of a document once, whether it wins, loses or is deleted', async () => {
    const db = await new Bench().open();
    const branches = [
      toWrite('a', { rev: '2-z', ids: ['z', 'r'] }),
      toWrite('a', { rev: '2-b', ids: ['b', 'r'] }),
      toWrite('a', { rev: '2-c', ids: ['c', 'r'], deleted: true }),
    ];
    await db.write(branches, { newEdits: false, durability: 'relaxed' });
    const outcomes = await db.write(
      [
        toWrite('a', { rev: '2-b', deleted: true, body: '{}' }),
        toWrite('a', { rev: '2-z', body: '{"n":3}' }),
        toWrite('a', { rev: '2-z', body: '{"n":4}' }),
        toWrite('a', { body: '{"n":5}' }),
        toWrite('a', { rev: '2-c', body: '{"n":6}' }),
        toWrite('a', { rev: '2-b', body: '{"n":7}' }),
      ],
      NEW_EDITS,
    );
    const results = outcomes.map((outcome) => outcome.ok || outcome.error.code);
    expect(results).toEqual([true, true, 'conflict', 'conflict', true, 'conflict']);
    const [gone, merged, , , revived] = outcomes.map((outcome) => outcome.rev);
    const leaves = await leavesOf(db, 'a');
    expect([...leaves].sort()).toEqual([`${gone}!={}`, `${merged}={"n":3}`, `${revived}={"n":6}`].sort());
    expect(leaves.at(-1)).toBe(`${gone}!={}`);
    await db.close();
  });

  test('of a deleted document accepts a write without a revision first, and other leaves after it', async () => {
    const db = await new Bench().open();
    const branches = [
      toWrite('a', { rev: '2-z', ids: ['z', 'r'], deleted: true }),
      toWrite('a', { rev: '2-b', ids: ['b', 'r'], deleted: true }),
    ];
    await db.write(branches, { newEdits: false, durability: 'relaxed' });
    const writes = [toWrite('a'), toWrite('a', { rev: '2-b', deleted: true }), toWrite('a', { rev: '2-z' })];
    const outcomes = await db.write(writes, NEW_EDITS);
    expect(outcomes.map((outcome) => outcome.ok || outcome.error.code)).toEqual([true, true, 'conflict']);
    const turned = await db.write([toWrite('b', { deleted: true })], NEW_EDITS);
    const rev = turned[0]?.rev ?? '';
    const late = await db.write([toWrite('b', { rev, deleted: true }), toWrite('b')], NEW_EDITS);
    expect(late.map((outcome) => outcome.ok || outcome.error.code)).toEqual([true, 'conflict']);
    await db.close();
  });

  test('edits many leaves of a document, but not the revisions that it created', async () => {
    const db = await new Bench().open();
    const hashes = Array.from({ length: 40 }, (_unused, index) => `h${index}`);
    await db.write(
      hashes.map((hash) => toWrite('a', { rev: `1-${hash}`, ids: [hash] })),
      { newEdits: false, durability: 'relaxed' },
    );
    const edits = hashes.map((hash) => toWrite('a', { rev: `1-${hash}`, deleted: true, body: '{}' }));
    const expected = await db.write(edits, NEW_EDITS);
    expect(expected.every((outcome) => outcome.ok)).toBe(true);
    expect(await seeAll(db)).toMatchObject({ docCount: 0, docDelCount: 1 });
    const other = await new Bench().open();
    await other.write(
      hashes.map((hash) => toWrite('a', { rev: `1-${hash}`, ids: [hash] })),
      { newEdits: false, durability: 'relaxed' },
    );
    const onWhatItMakes = expected.map(({ rev }) => toWrite('a', { rev: rev ?? '' }));
    const outcomes = await other.write([...edits, ...onWhatItMakes], NEW_EDITS);
    expect(outcomes.map((outcome) => outcome.ok)).toEqual([...hashes.map(() => true), ...hashes.map(() => false)]);
    await Promise.all([db.close(), other.close()]);
  });

  test('with all_or_nothing makes a branch for a stale revision, and nothing conflicts', async () => {
    const db = await new Bench().open();
    await put(db, 'a', { body: '{"n":1}' });
    await put(db, 'a', { rev: FIRST, body: '{"n":2}' });
    const writes = [toWrite('a', { rev: FIRST, body: '{"n":3}' }), toWrite('a', { body: '{"n":4}' })];
    const outcomes = await db.write(writes, { ...NEW_EDITS, allOrNothing: true });
    expect(outcomes.map((outcome) => outcome.ok)).toEqual([true, true]);
    const [branch, root] = outcomes.map((outcome) => outcome.rev);
    const leaves = await leavesOf(db, 'a');
    expect([...leaves].sort()).toEqual([`${root}={"n":4}`, `${SECOND}={"n":2}`, `${branch}={"n":3}`].sort());
    expect(root).toMatch(/^1-/);
    expect(branch).toMatch(/^2-/);
    await db.close();
  });

  test('without writes does nothing', async () => {
    const bench = new Bench();
    const db = await bench.open();
    expect(await db.write([], NEW_EDITS)).toEqual([]);
    expect(db.updateSeq).toBe(0);
    await db.close();
  });
});
