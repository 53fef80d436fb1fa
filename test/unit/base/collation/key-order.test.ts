import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createKeyOrder } from '../../../../src/base/collation/key-order.ts';
import { collationVersion } from '../../../../src/base/collation/string-order.ts';

const unicode = createKeyOrder('unicode');
const raw = createKeyOrder('raw');

/** Keys in ascending order (docs/http/views.md#order-of-keys). */
const ascending = JSON.parse(
  '[null,false,true,1,2,3.0,4,"a","A","aa","b","B","ba","bb",["a"],["b"],["b","c"],["b","c","a"],["b","d"],["b","d","e"],{"a":1},{"a":2},{"b":1},{"b":2},{"b":2,"a":1},{"b":2,"c":2}]',
) as unknown[];

/** The same types by Erlang's terms, strings by bytes. */
const rawAscending = [
  -1,
  1,
  2.5,
  false,
  null,
  true,
  {},
  { a: 1 },
  { a: 2 },
  { b: 1 },
  [],
  ['a'],
  ['b'],
  ['b', 'c'],
  'A',
  'B',
  'a',
  'aa',
  'b',
  'é',
  '\ufb00',
  '😀',
];

const anyKey = fc.jsonValue({ maxDepth: 3 });

describe.each([
  ['unicode', unicode, ascending],
  ['raw', raw, rawAscending],
] as const)('the %s order', (_name, compare, list) => {
  test('is that of the specification for each pair', () => {
    for (const [left, leftValue] of list.entries()) {
      for (const [right, rightValue] of list.entries()) {
        expect(Math.sign(compare(leftValue, rightValue)), JSON.stringify([leftValue, rightValue])).toBe(
          Math.sign(left - right),
        );
      }
    }
  });

  test('is total', () => {
    fc.assert(
      fc.property(anyKey, anyKey, anyKey, (first, second, third) => {
        expect(compare(first, first)).toBe(0);
        expect(Math.sign(compare(first, second))).toBe(0 - Math.sign(compare(second, first)));
        const [low, middle, high] = [first, second, third].sort(compare);
        expect(compare(low, middle)).toBeLessThanOrEqual(0);
        expect(compare(low, high)).toBeLessThanOrEqual(0);
        expect(compare(middle, high)).toBeLessThanOrEqual(0);
      }),
      { numRuns: 2_000 },
    );
  });
});

test('strings that the collator calls equal are equal keys', () => {
  expect(unicode('a\u0000b', 'ab')).toBe(0);
  expect(unicode('\u00e9', 'e\u0301')).toBe(0);
  expect(unicode(['\u00e9', 1], ['e\u0301', 2])).toBeLessThan(0);
  expect(raw('\u00e9', 'e\u0301')).not.toBe(0);
});

test('numbers too large for a double, and both zeros, have a place in the order', () => {
  expect(unicode(JSON.parse('1e400'), 1e308)).toBeGreaterThan(0);
  expect(unicode(JSON.parse('1e400'), JSON.parse('2e400'))).toBe(0);
  expect(unicode(-0, 0)).toBe(0);
});

test('the collation version differs between engines, and is stable for one engine', () => {
  expect(collationVersion('one')).toBe(collationVersion('one'));
  expect(collationVersion('one')).not.toBe(collationVersion('two'));
  expect(collationVersion('')).toMatch(/^[0-9a-z]+$/);
});
