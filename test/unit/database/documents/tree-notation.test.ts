import { describe, expect, test } from 'vitest';
import { parseTree, printTree } from '../../../support/tree-notation.ts';

describe('the notation of revision trees', () => {
  test('is read as a path from old to new', () => {
    const [leaf] = parseTree('1-a 2-b!=text');
    expect(leaf).toEqual({
      generation: 2,
      hash: 'b',
      deleted: true,
      body: 'text',
      parent: { generation: 1, hash: 'a', deleted: false, body: undefined, parent: undefined },
    });
  });

  test('shares the revisions that branches have in common', () => {
    const [first, second] = parseTree('1-a 2-b, 1-a 2-c');
    expect(first?.hash).toBe('c');
    expect(first?.parent).toBe(second?.parent);
  });

  test('lists leaves in winning order', () => {
    const leaves = parseTree('1-a 2-b!, 1-a 2-c 3-d!, 1-a 2-a, 1-a 2-e');
    expect(leaves.map((leaf) => leaf.hash)).toEqual(['e', 'a', 'd', 'b']);
  });

  test('is printed with the winner first, and each revision once in full', () => {
    expect(printTree(parseTree('1-a 2-x, 1-a 2-b=B 3-b!, 2-b 3-c=C'))).toBe('1-a 2-b=B 3-c=C, 1-a 2-x, 2-b 3-b!');
    expect(printTree(parseTree('5-a, 1-a'))).toBe('5-a, 1-a');
    expect(printTree([])).toBe('');
    expect(parseTree('')).toEqual([]);
  });

  test.each(['a', '1', '1-', '1-a 3-b', '1-a 2-b, 1-c 2-b'])('is refused for %j', (text) => {
    expect(() => parseTree(text)).toThrow('Invariant broken');
  });
});
