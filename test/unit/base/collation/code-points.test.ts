import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareCodePoints } from '../../../../src/base/collation/code-points.ts';

describe('the order of code points', () => {
  test('sorts characters above U+FFFF after U+E000 to U+FFFF, unlike the order of UTF-16 units', () => {
    const ascending = [
      '',
      'A',
      'B',
      'a',
      'aa',
      'b',
      '\u007f',
      'é',
      '\ud7ff',
      '\ue000',
      '\uffff',
      '\u{10000}',
      '\u{10ffff}',
    ];
    const shuffled = [...ascending].reverse();
    expect(shuffled.sort(compareCodePoints)).toEqual(ascending);
    expect('\u{10000}' < '\ue000').toBe(true);
    expect(compareCodePoints('\u{10000}', '\ue000')).toBeGreaterThan(0);
  });

  test('sorts a string before its extensions', () => {
    expect(compareCodePoints('abc', 'abcd')).toBeLessThan(0);
    expect(compareCodePoints('abcd', 'abc')).toBeGreaterThan(0);
    expect(compareCodePoints('abc', 'abc')).toBe(0);
  });

  test.each([63, 64, 65, 127, 128, 129, 200, 1000])('looks beyond %i shared characters', (length) => {
    const shared = 'x'.repeat(length);
    expect(compareCodePoints(`${shared}a`, `${shared}b`)).toBeLessThan(0);
    expect(compareCodePoints(`${shared}\u{10000}`, `${shared}\uffff`)).toBeGreaterThan(0);
    expect(compareCodePoints(shared, `${shared}b`)).toBeLessThan(0);
    expect(compareCodePoints(shared, 'x'.repeat(length))).toBe(0);
  });

  test('keeps surrogate pairs together across the chunks of a long string', () => {
    const left = `${'x'.repeat(63)}\u{1f600}${'y'.repeat(80)}`;
    const right = `${'x'.repeat(63)}\u{1f601}${'y'.repeat(80)}`;
    expect(compareCodePoints(left, right)).toBeLessThan(0);
  });

  test('is the order of the UTF-8 bytes', () => {
    const character = fc.constantFrom(
      'a',
      'b',
      '\u007f',
      '\u0080',
      '\u07ff',
      '\ud7ff',
      '\ue000',
      '\uffff',
      '\u{10000}',
      '\u{1f600}',
    );
    const text = fc.string({ unit: character, maxLength: 300, size: 'max' });
    const pair = fc.oneof(
      fc.tuple(text, text),
      fc.tuple(text, text, text).map(([shared, left, right]) => [shared + left, shared + right] as const),
    );
    fc.assert(
      fc.property(pair, ([left, right]) => {
        const expected = Buffer.compare(Buffer.from(left), Buffer.from(right));
        expect(Math.sign(compareCodePoints(left, right))).toBe(expected);
      }),
      { numRuns: 500 },
    );
  });
});
