import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { JsonScanner, NO_END } from '../../../../src/base/json/json-scanner.ts';
import {
  checkPortable,
  checkPortableInSteps,
  checkValueInSteps,
  mayBeUnportable,
  mayBeUnportableInSteps,
} from '../../../../src/base/json/portable-values.ts';
import { atOnce } from '../../../../src/base/shared/turn.ts';
import { timesSlower } from '../../../support/fastest.ts';

const isPortable = (text: string): boolean => {
  try {
    checkPortable(JSON.parse(text));
    return true;
  } catch {
    return false;
  }
};

test('lone surrogates and numbers beyond the range of doubles are not portable, wherever they are', () => {
  for (const value of ['"\\ud800"', '"a\\udfff"', '1e400', '-1e309']) {
    for (const text of [value, `[1,${value}]`, `{"a":{"b":[${value}]}}`]) {
      expect(isPortable(text), text).toBe(false);
      expect(mayBeUnportable(text), text).toBe(true);
    }
  }
  expect(isPortable('{"\\ud800":1}')).toBe(false);
  expect(isPortable('{"a":["\\ud83d\\ude00",1e308,9007199254740993,1e-400]}')).toBe(true);
});

test('a long text is classified like its value', () => {
  const before = `"é\\\\","\\"","${'x'.repeat(65_500)}"`;
  for (const [value, isFine] of [
    ['"\\ud800"', false],
    ['1e400', false],
    [`-${'9'.repeat(400)}.5`, false],
    ['"\\ud83d\\ude00"', true],
    ['1e-400', true],
    ['"1e400"', true],
  ] as const) {
    const text = `{"a":[${before},${value}]}`;
    expect(isPortable(text), value).toBe(isFine);
    const inSteps = () => atOnce(checkPortableInSteps(text));
    if (isFine) expect(inSteps).not.toThrow();
    else expect(inSteps, value).toThrow('bad_request: A ');
    if (!isFine) expect(atOnce(mayBeUnportableInSteps(text)), value).toBe(true);
  }
  expect(atOnce(mayBeUnportableInSteps(`[${before}]`))).toBe(false);
});

test('a deeply nested value is checked for portability without recursion', () => {
  const deep = `${'['.repeat(100_000)}1e400${']'.repeat(100_000)}`;
  expect(isPortable(deep)).toBe(false);
});

test('checking digits takes time in proportion to their number', () => {
  const textOf = (count: number) =>
    `[${Array.from({ length: Math.floor(4_000_000 / count) }, () => '1'.repeat(count)).join(',')}]`;
  const [long, short] = [textOf(199), textOf(10)];
  const check = (text: string) => () => expect(mayBeUnportable(text)).toBe(false);
  // With a square of the digits of a number it would be twenty times.
  expect(timesSlower(check(long), check(short))).toBeLessThan(8);
});

test('the scanner, the check of the text and the check of the value agree', () => {
  const unit = fc.constantFrom('\\ud83d', '\\ude00', '\\uD800', '\\uDfff', '\\u00e9', 'd', '\\\\', '\\"', 'ud800');
  const text = fc.array(unit, { maxLength: 5 }).map((units) => `"${units.join('')}"`);
  const digits = fc.integer({ min: 1, max: 320 }).map((count) => '7'.repeat(count));
  const number = fc
    .tuple(
      fc.constantFrom('', '-'),
      digits,
      fc.constantFrom('', '.0', `.${'1'.repeat(300)}`),
      fc.integer({ min: -400, max: 400 }),
    )
    .map(([sign, whole, fraction, exponent]) => `${sign}${whole}${fraction}${exponent === 0 ? '' : `e${exponent}`}`);
  fc.assert(
    fc.property(fc.array(fc.oneof(text, number), { minLength: 1, maxLength: 3 }), (values) => {
      const json = `{"a":[${values.join(',')}]}`;
      const isSure = new JsonScanner(json).valueEnd(0, 0) !== NO_END;
      expect(isSure).toBe(isPortable(json));
      if (!mayBeUnportable(json)) expect(isSure).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test('other work has turns while a value with many values is checked', () => {
  const steps = [...checkValueInSteps(Array.from({ length: 100_000 }, (_, n) => n))];
  expect(steps.length).toBeGreaterThan(50);
  expect(() => atOnce(checkValueInSteps([[{ a: '\ud800' }]]))).toThrow(DatabaseError);
});
