import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createKeyOrder } from '../../../../src/base/collation/key-order.ts';
import { SortTexts } from '../../../../src/base/collation/sort-text.ts';
import { weighCharacters } from '../../../../src/base/collation/string-order.ts';

const texts = new SortTexts(weighCharacters());
const compare = createKeyOrder('unicode');

const latin = fc.array(fc.oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0xc0, max: 0x17f })), {
  maxLength: 4,
});
const scalar = fc.oneof(
  latin.map((codes) => String.fromCharCode(...codes)),
  fc.constantFrom<unknown[]>(null, false, true, 0, -0, 1e308, Number.POSITIVE_INFINITY, 5e-324, -5e-324),
  fc.double({ noNaN: true }),
  fc.integer({ min: -300, max: 300 }),
);
const key = fc.oneof(scalar, fc.array(fc.oneof(scalar, fc.array(scalar, { maxLength: 2 })), { maxLength: 3 }));

test('different sort texts have the same order as their keys', () => {
  fc.assert(
    fc.property(key, key, (left, right) => {
      const [leftText, rightText] = [texts.of(left), texts.of(right)];
      fc.pre(leftText !== undefined && rightText !== undefined && leftText !== rightText);
      expect(String(leftText) < String(rightText) ? -1 : 1).toBe(Math.sign(compare(left, right)));
    }),
    { numRuns: 20_000 },
  );
});

test('keys that count as equal have equal sort texts', () => {
  for (const [left, right] of [
    [0, -0],
    [['a'], ['a']],
    ['x', 'x'],
  ])
    expect(texts.of(left)).toBe(texts.of(right));
  expect(texts.of('a')).not.toBe(texts.of('b'));
  expect(texts.of([1, 'a'])).not.toBe(texts.of([1, 'b']));
});

test('keys that only the collator can compare, and objects, have no sort text', () => {
  const beginnings = ['日本', 'a\u0301', {}, [1, { a: 1 }], 'æ', `${'x'.repeat(15)}\u0301`];
  for (const one of beginnings) expect(texts.of(one)).toBeUndefined();
  for (const one of ['a', 'é', `${'x'.repeat(40)}日本`, 1, [], [['b'], null]]) expect(texts.of(one)).toHaveLength(16);
});
