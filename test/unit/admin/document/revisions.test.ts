import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { revisionLabels } from '../../../../src/admin/document/revisions/labels.ts';
import { type TreeRow, treeRows } from '../../../../src/admin/document/revisions/tree-layout.ts';

describe('the label of a revision', () => {
  test('has six characters of the hash, and more where that is not enough', () => {
    const labels = revisionLabels(['1-abcdefgh', '1-abcdefxy', '2-0123456789', '10-a', '10-ab']);
    expect([...labels.values()].sort()).toEqual(['1-abcdefg', '1-abcdefx', '10-a', '10-ab', '2-012345']);
  });

  test('is a beginning of the revision that no other label is', () => {
    const hash = fc.string({ unit: fc.constantFrom('0', '1', 'f'), minLength: 1, maxLength: 12 });
    const revs = fc.uniqueArray(fc.tuple(fc.integer({ min: 1, max: 3 }), hash).map((parts) => parts.join('-')));
    fc.assert(
      fc.property(revs, (all) => {
        const labels = revisionLabels(all);
        expect(new Set(labels.values()).size).toBe(all.length);
        for (const [rev, label] of labels) expect(rev.startsWith(label)).toBe(true);
      }),
    );
  });
});

/** Branches that begin at a revision of another one. */
const trees = fc
  .array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 12 })), { minLength: 1, maxLength: 20 })
  .map((shapes) => {
    const branches: { readonly revs: readonly string[] }[] = [];
    for (const [number, [origin, length]] of shapes.entries()) {
      const from = branches[origin % Math.max(1, branches.length)]?.revs ?? [];
      const base = from.slice(origin % Math.max(1, from.length));
      const own = Array.from({ length }, (_, age) => `${base.length + length - age}-${number}`);
      branches.push({ revs: [...own, ...base] });
    }
    return branches;
  });

const sketch = (rows: readonly TreeRow[]) =>
  rows.map(({ revs, lane, parent }) => `${'| '.repeat(lane)}${revs.join(' ')} -> ${parent ?? 'nothing'}`);

describe('the drawing of a tree of revisions', () => {
  test('has the winner at the top, and branches beside the revision that they begin at', () => {
    const branches = [
      ['4-a', '3-a', '2-a', '1-a'],
      ['4-b', '3-b', '2-a', '1-a'],
      ['3-c', '2-a', '1-a'],
    ];
    expect(
      sketch(
        treeRows(
          branches.map((revs) => ({ revs })),
          new Set(),
        ),
      ),
    ).toEqual(['4-a -> 1', '3-a -> 5', '| 4-b -> 3', '| 3-b -> 5', '| 3-c -> 5', '2-a -> 6', '1-a -> nothing']);
  });

  test('folds revisions in a row, until they are to be shown', () => {
    const revs = Array.from({ length: 1_000 }, (_, age) => `${1_000 - age}-x`);
    const rows = treeRows([{ revs }], new Set());
    expect(rows.map((row) => row.revs.length)).toEqual([1, 1, 997, 1]);
    expect(treeRows([{ revs }], new Set(rows[2]?.revs))).toHaveLength(1_000);
  });

  test('has every revision once, what is replaced below, and no line through another revision', () => {
    fc.assert(
      fc.property(trees, fc.boolean(), (branches, isFolded) => {
        const all = new Set(branches.flatMap(({ revs }) => revs));
        const rows = treeRows(branches, isFolded ? new Set() : all);
        expect(rows.flatMap(({ revs }) => revs).sort()).toEqual([...all].sort());
        for (const [at, { lane, parent }] of rows.entries()) {
          if (parent === undefined) continue;
          expect(parent).toBeGreaterThan(at);
          const under = rows[parent]?.lane ?? -1;
          expect([lane, lane - 1]).toContain(under);
          // The line runs in the parent's lane.
          for (const between of rows.slice(at + 1, parent)) expect(between.lane).toBeGreaterThan(under);
        }
      }),
    );
  });

  test('of 1,000 revisions and 100 leaves is narrow, and short enough to be read', () => {
    const trunk = Array.from({ length: 100 }, (_, age) => `${100 - age}-t`);
    const branches = Array.from({ length: 100 }, (_, number) => ({
      revs: [...Array.from({ length: 9 }, (_one, age) => `${109 - number - age}-${number}`), ...trunk.slice(number)],
    }));
    const rows = treeRows(branches, new Set());
    expect(Math.max(...rows.map(({ lane }) => lane))).toBeLessThan(3);
    expect(rows.length).toBeLessThan(600);
  });
});
