import { describe, expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import type { RevisionNode } from '../../../../src/database/documents/contract.ts';
import { mergePath, pathOf, stem } from '../../../../src/database/documents/revisions/revision-tree.ts';
import { cutFirstRev, decodeTree, encodeTree } from '../../../../src/database/documents/revisions/tree-codec.ts';
import { appendRevision } from '../../../support/append-revision.ts';
import { parseTree, printTree } from '../../../support/tree-notation.ts';

const A = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa';
const B = '0123456789abcdef0123456789abcdef';
const C = 'cccccccccccccccccccccccccccccccc';

const encode = (tree: readonly RevisionNode<string>[]) => encodeTree(tree, (body) => body);
const decode = (text: string) => decodeTree(text, (body) => body);
const decodeAll = (text: string) => printTree(decode(text));

/** The stored forms: what is written today must be read for ever. */
describe('the tree codec encodes and decodes', () => {
  test.each([
    ['an empty tree', '', ''],
    ['one revision', `1-${A}=b0.dy`, `1-${A}=b0.dy,`],
    ['a revision with an empty body text', `1-${A}=`, `1-${A}=,`],
    ['plain ancestors', `1-${A} 2-${B} 3-${C}=b`, `3-${C}=b,${B}${A}`],
    ['deletions and bodies on the way', `1-${A}=a 2-${B}! 3-${C}!=c`, `3-!${C}=c,!${B}${A}=a,`],
    ['a forgotten beginning', `99-${A} 100-${B}`, `100-${B}${A}`],
    ['other hashes', `1-x;^~ 2-${A}0=b 3-0`, `3-~1:0~33:${A}0=b,~4:x;^~`],
    ['branches', `1-${A} 2-${B}, 1-${A} 2-${C}!=c 3-${C}!`, `<2-${B}${A};3-!${C}!${C}=c,^0.1`],
    ['a branch off a branch', '1-a 2-b 3-c, 2-b 3-d, 1-a 2-e', '<3-~1:d~1:b~1:a;3-~1:c^0.2;2-~1:e^0.1'],
    ['several roots', `5-${B}, 1-${A}`, `<5-${B};1-${A}`],
  ])('%s', (_, tree, text) => {
    expect(encode(parseTree(tree))).toBe(text);
    expect(decodeAll(text)).toBe(printTree(parseTree(tree)));
  });
});

describe('a decoded tree', () => {
  test('shares its forks', () => {
    const [first, second] = decode(encode(parseTree('1-a 2-b, 1-a 2-c')));
    expect(first?.parent).toBe(second?.parent);
  });

  test('returns the same parent each time', () => {
    const [leaf] = decode(encode(parseTree('1-a 2-b 3-c')));
    expect(leaf?.parent).toBe(leaf?.parent);
    expect(leaf?.parent?.parent).toBe(leaf?.parent?.parent);
    expect(leaf?.parent?.parent?.parent).toBeUndefined();
  });

  test('can be extended and encoded, decoded or not', () => {
    const text = encode(parseTree(`1-${A}=a 2-${B}! 3-c=c`));
    const unread = decode(text);
    const read = decode(text);
    expect(pathOf(must(read[0])).ids).toEqual(['c', B, A]);
    for (const tree of [unread, read]) {
      const extended = appendRevision(tree, tree[0], { hash: C, deleted: false, body: 'd' });
      expect(encode(extended)).toBe(`4-${C}=d,~1:c=c,!${B}${A}=a,`);
      expect(encode(mergePath(tree, { start: 4, ids: [C, 'c'] }, false, 'd').leaves)).toBe(encode(extended));
    }
  });

  test('can be stemmed, decoded or not', () => {
    const text = encode(parseTree(`1-${A}=a 2-${B}! 3-c=c 4-${C}=d`));
    const expected = [`4-${C}=d,`, `4-${C}=d,~1:c=c,`, `4-${C}=d,~1:c=c,!${B}`, text, text];
    for (const [index, stemmed] of expected.entries()) {
      const unread = decode(text);
      const read = decode(text);
      expect(pathOf(must(read[0])).ids).toHaveLength(4);
      for (const tree of [unread, read]) {
        expect(encode(stem(tree, index + 1))).toBe(stemmed);
        const extended = appendRevision(tree, tree[0], { hash: A, deleted: false, body: undefined });
        expect(encode(stem(extended, index + 2))).toBe(`5-${A}${stemmed.slice(2)}`);
      }
    }
  });

  test('takes 32 characters per plain ancestor', () => {
    let tree: readonly RevisionNode<string>[] = [];
    for (let edit = 0; edit <= 1000; edit++) {
      tree = appendRevision(tree, tree[0], {
        hash: edit.toString(16).padStart(32, '0'),
        deleted: false,
        body: undefined,
      });
    }
    const text = encode(tree);
    expect(text).toHaveLength('1001-'.length + 1001 * 32);
    expect(pathOf(must(decode(text)[0]))).toEqual(pathOf(must(tree[0])));
  });
});

describe('a damaged encoded tree', () => {
  test.each([
    ['no generation', 'x'],
    ['no hyphen', `1${A}`],
    ['generation 0', `0-${A}`],
    ['no revision', '1-'],
    ['a short hash', `1-${A.slice(1)}`],
    ['an upper-case hash', `1-${A.toUpperCase()}`],
    ['more ancestors than generations', `1-${A}${B}`],
    ['a body without end', `1-${A}=b`],
    ['an odd hash of no length', '1-~0:'],
    ['an odd hash without colon', '1-~3'],
    ['an odd hash that is too short', '1-~3:ab'],
    ['an odd hash with a strange length', '1-~x:ab'],
    ['a cut ancestor', `2-${A}${B.slice(0, 20)}`],
    ['text behind it', `2-${A}?`],
    ['no path', '<'],
    ['an empty path', `<1-${A};`],
    ['a branch from an unknown path', `<2-${A}${B};2-${C}^1.1`],
    ['a branch from an unknown revision', `<2-${A}${B};4-${C}^0.3`],
    ['a branch of the wrong generation', `<3-${A}${B}${C};3-${C}^0.1`],
    ['an unfinished branch', `<2-${A}${B};2-${C}^0`],
    ['text behind its paths', `<2-${A}${B};2-${C}^0.1!`],
  ])('with %s is an error', (_, text) => {
    expect(() => decodeAll(text)).toThrow('storage_corrupt: Stored revision tree');
  });
});

describe("reading the first leaf's revision id", () => {
  test.each([
    ['of one leaf', `3-${A}=b0.dy,${B}${C}`, `3-${A}`],
    ['of several leaves', `<12-${B}=a,${A};3-!${C}^0.2`, `12-${B}`],
  ])('cutFirstRev() finds the revision %s', (_, text, rev) => {
    expect(cutFirstRev(text, 0)).toBe(rev);
    expect(cutFirstRev(`l1f ${text}`, 4)).toBe(rev);
  });

  test.each([
    ['a hash of another service', '3-~4:x;^~=b,'],
    ['a deletion', `3-!${A}=c,`],
    ['a revision without a body', `3-${A}${B}`],
    ['a damaged hash', `3-${A.slice(1)}x=b,`],
    ['no text', ''],
  ])('cutFirstRev() leaves the text to decodeTree for %s', (_, text) => {
    expect(cutFirstRev(text, 0)).toBeUndefined();
  });
});
