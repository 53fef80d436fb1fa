import { expect, test } from 'vitest';
import { parseDefinition } from '../../../../src/queries/views/trees/definition.ts';

const map = 'function (doc) { emit(doc.n, "ü"); }';

test('the signature in the names of index files is stable', async () => {
  const views = {
    lib: { m: 'exports.x = 1;' },
    a: { map, reduce: '_count' },
    b: { map, options: { collation: 'raw' } },
    c: { map: 'function () {}' },
  };
  const { signature } = await parseDefinition(JSON.stringify({ options: { local_seq: true }, views }));
  expect(signature).toBe('9bc56637c8b1f22be8a34c5a1f9a80c6');
});

test('a design document can have 20,000 views', async () => {
  const views = Object.fromEntries(Array.from({ length: 20_001 }, (_, n) => [`v${n}`, { map }]));
  await expect(parseDefinition(JSON.stringify({ views }))).rejects.toMatchObject({
    code: 'bad_request',
    reason: 'A design document has 20000 views at most, and this one has 20001. Spread them over several.',
  });
});

test('thousands of views with one map are read in turns with other work', async () => {
  const views = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, n) => [`v${n}`, { map, reduce: `function () { return ${n}; }` }]),
  );
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const { trees, treeRefs } = await parseDefinition(JSON.stringify({ views }));
  isOver = true;
  expect(trees).toHaveLength(200);
  expect(trees.map(({ reduces }) => reduces.length)).toEqual(Array.from({ length: 200 }, () => 100));
  expect(treeRefs.get('v0')).toEqual({ tree: 0, reduce: 0 });
  expect(treeRefs.get('v19999')).toEqual({ tree: 199, reduce: 99 });
  expect(trees[199]?.reduces[99]).toBe('function () { return 19999; }');
  expect(turns).toBeGreaterThan(2);
});
