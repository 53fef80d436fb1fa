import { describe, expect, test } from 'vitest';
import { minify, shortenSpaceInSteps } from '../../../../src/base/json/white-space.ts';
import { atOnce } from '../../../../src/base/shared/turn.ts';

describe('minifying', () => {
  test('drops white space outside of strings only', () => {
    expect(minify(' {\n "a b" : [ 1 ,\t" \\" x " ] ,\r\n"c":-1.0 } ')).toBe('{"a b":[1," \\" x "],"c":-1.0}');
  });
  test('works within a range', () => {
    expect(minify('[ 1, { "a": 2 } ]', 5, 15)).toBe('{"a":2}');
    expect(minify('[1,{"a":2}]', 3, 10)).toBe('{"a":2}');
  });
  test('changes nothing if there is no white space', () => expect(minify('{"a b":[1," "]}')).toBe('{"a b":[1," "]}'));
});

const short = (text: string) => atOnce(shortenSpaceInSteps(text));
const LONG = 200_000;
const space = ' \n\t\r'.repeat(LONG / 4);

describe('white space of a long text', () => {
  test.each([
    ['before', (run: string) => `${run}{"a":1}`],
    ['behind', (run: string) => `{"a":1}${run}`],
    ['between members', (run: string) => `{"a":1,${run}"b":"x y"}`],
    ['between two values, which no text may have', (run: string) => `{"a":1${run}2}`],
    ['behind a string with a quote in it', (run: string) => `{"a":"\\" ",${run}"b":1}`],
  ])('is shortened to one character: %s', (_where, make) => {
    expect(short(make(space))).toBe(make(' '));
  });

  test('in a string is kept', () => {
    const text = `{"a":"${' '.repeat(LONG)}"}`;
    expect(short(text)).toBe(text);
  });

  test('in a string is kept, and shortened beside it', () => {
    const value = `"${' '.repeat(LONG)}"`;
    expect(short(`[${value},${space}${value}]`)).toBe(`[${value}, ${value}]`);
  });

  test("that JSON doesn't accept as white space is kept", () => {
    const text = `[${'\u000b'.repeat(LONG)}]`;
    expect(short(text)).toBe(text);
  });

  test('of ordinary length is kept', () => {
    const text = JSON.stringify(
      Array.from({ length: 10_000 }, (_, n) => ({ n, text: 'x' })),
      undefined,
      20,
    );
    expect(short(text)).toBe(text);
  });

  test('of 65,536 characters is found wherever it begins', () => {
    for (let before = 1; before < 70_000; before += 9_973) {
      const text = `[${'1,'.repeat(before)}${' '.repeat(65_536)}1]`;
      expect(short(text).length).toBe(text.length - 65_535);
    }
  });

  test('is skipped in steps, so that other work has turns', () => {
    let steps = 0;
    for (const _ of shortenSpaceInSteps(`[${' '.repeat(10 * 131_072)}]`)) steps++;
    expect(steps).toBeGreaterThanOrEqual(9);
  });
});
