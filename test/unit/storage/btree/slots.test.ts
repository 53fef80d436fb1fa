import { describe, expect, test } from 'vitest';
import type { TreeNode } from '../../../../src/storage/btree/nodes/inner.ts';
import { Leaf } from '../../../../src/storage/btree/nodes/leaf.ts';
import { NodeLink } from '../../../../src/storage/btree/nodes/link.ts';
import { SlotList } from '../../../../src/storage/btree/nodes/slots.ts';
import { type Totals, totalsSpec } from './page-shelf.ts';

const read = () =>
  new SlotList<number, Totals, TreeNode<number, Totals>>(['\t7\t1\t4\tr', '20\t8\t2\t8\tr', '30\t9\t3\t12\tr']);

function slot(key: number) {
  return {
    keyText: String(key),
    key,
    link: NodeLink.toNew<TreeNode<number, Totals>, Totals>(new Leaf('l1\n5\t5'), 1, 4),
  };
}

describe('slots of a node', () => {
  test('that were read are decoded on demand', () => {
    const slots = read();
    expect(slots.key(1, totalsSpec)).toBe(20);
    expect(slots.link(2)).toMatchObject({ page: 9, count: 3, bytes: 12, reductionText: 'r' });
    expect(slots.link(2)).toBe(slots.link(2));
    expect(slots.sums()).toEqual({ count: 6, bytes: 24 });
    expect(slots.line(1, undefined)).toBe('20\t8\t2\t8\tr');
  });

  test('are written without the separator of the first', () => {
    const part = read().slice(1, 3);
    expect(part.line(0, undefined)).toBe('\t8\t2\t8\tr');
    const added = new SlotList<number, Totals, TreeNode<number, Totals>>();
    added.push(slot(40));
    added.push(slot(50));
    for (const index of [0, 1]) added.link(index).reductionText = 'x';
    expect(added.line(0, { page: 70, pages: 1 })).toBe('\t70\t1\t4\tx');
    expect(added.line(1, { page: 71, pages: 3 })).toBe('50\t71+3\t1\t4\tx');
  });

  test('of a right neighbour are appended after the separator between, whatever their first one was', () => {
    const right = read().slice(1, 3);
    expect(right.key(0, totalsSpec)).toBe(20);
    const joined = read().slice(0, 1);
    joined.appendNeighbour(right, { keyText: '15', key: undefined });
    expect(joined.key(1, totalsSpec)).toBe(15);
    expect(joined.line(1, undefined)).toBe('15\t8\t2\t8\tr');
    expect(joined.key(2, totalsSpec)).toBe(30);
    const added = new SlotList<number, Totals, TreeNode<number, Totals>>();
    added.push(slot(40));
    joined.appendNeighbour(added, { keyText: '35', key: 35 });
    expect(joined.keyText(3)).toBe('35');
    expect(joined.key(3, totalsSpec)).toBe(35);
  });

  test('keep the separator of the first that they replace', () => {
    const slots = read();
    slots.replace(1, 2, [slot(99), slot(28)]);
    expect([1, 2].map((index) => slots.key(index, totalsSpec))).toEqual([20, 28]);
    slots.replace(0, 1, []);
    expect(slots.length).toBe(2);
  });

  test('refuse an invalid line', () => {
    expect(() => new SlotList<number, Totals, TreeNode<number, Totals>>(['20\t8\t2\t8']).link(0)).toThrow(
      'lacks some of its parts',
    );
    expect(() => new SlotList<number, Totals, TreeNode<number, Totals>>(['20\tx\t2\t8\tr']).link(0)).toThrow(
      'lacks some of its parts',
    );
    expect(() => new SlotList<number, Totals, TreeNode<number, Totals>>(['20']).keyText(0)).toThrow('no tab');
  });
});
