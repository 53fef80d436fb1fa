import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonScanner, NO_END } from '../../../../src/base/json/json-scanner.ts';
import { mayBeUnportable } from '../../../../src/base/json/portable-values.ts';

/** Where the value at the text's beginning ends. */
const end = (text: string) => new JsonScanner(text).valueEnd(0, 0);

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

describe('the end of a value', () => {
  test.each(['{}', '[]', '{"a":[1,{"b":null}]}', '"a\\"\\u00e9"', '-0.5e+10', 'true', 'false', 'null'])(
    '%s',
    (text) => {
      expect(end(`${text},1`)).toBe(text.length);
    },
  );

  test('is reported with whether there was white space', () => {
    const plain = new JsonScanner('{"a b":[1]}');
    plain.valueEnd(0, 0);
    expect(plain.sawSpace).toBe(false);
    const spaced = new JsonScanner('{"a":[1,\n2]}');
    spaced.valueEnd(0, 0);
    expect(spaced.sawSpace).toBe(true);
  });

  test.each([
    '',
    '{',
    '[1',
    '[1,]',
    '{"a":1,}',
    '{a:1}',
    '"a',
    '"\t"',
    '"\\x"',
    '"\\u12g4"',
    '01',
    '1.',
    '-',
    '1e',
    'nul',
  ])("isn't found for %j", (text) => expect(end(text)).toBe(NO_END));

  test("isn't found if the value is nested too deeply", () => {
    expect(end(nested(100))).toBe(200);
    expect(end(nested(101))).toBe(NO_END);
  });

  test.each([
    '"\\ud83d\\ude00"',
    '"\\uD83D\\uDE00\\u00e9"',
    '"\\ud7ff\\ue000"',
    '1e308',
    '1e-400',
    '-1.5e+99',
    '9'.repeat(308),
  ])('is found for %s, which is portable', (text) => expect(end(text)).toBe(text.length));

  test.each([
    '"\\ud800"',
    '"\\ude00\\ud83d"',
    '"\\ud83d\\u0041"',
    '"\\ud83d"',
    '"\\ud83dx"',
    '1e309',
    '-1e400',
    '9'.repeat(309),
  ])("isn't found for %s, which is not portable", (text) => expect(end(text)).toBe(NO_END));

  /** Texts that may have something that is not portable are left to `JSON.parse`, so no end need be found for them. */
  test('is found for exactly what JSON.parse accepts', () => {
    const texts = fc.json({ maxDepth: 4 }).chain((json) =>
      fc
        .record({
          at: fc.nat(json.length),
          length: fc.nat(2),
          other: fc.constantFrom('', '"', '\\', ',', ']', '0', ' ', 'e'),
        })
        .map(({ at, length, other }) => json.slice(0, at) + other + json.slice(at + length)),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const scanner = new JsonScanner(text);
        const at = scanner.valueEnd(scanner.skipSpace(0), 0);
        const isFound = at !== NO_END && scanner.skipSpace(at) === text.length;
        expect(isFound || (isJson(text) && mayBeUnportable(text))).toBe(isJson(text));
      }),
    );
  });
});
