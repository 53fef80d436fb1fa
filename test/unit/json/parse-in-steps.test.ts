import { describe, expect, test } from 'vitest';
import { isShallow, isShallowText } from '../../../src/json/nesting.ts';
import { parseInSteps, parseMembersInSteps, TooManyMembers } from '../../../src/json/parse-in-steps.ts';
import { atOnce } from '../../../src/shared/turn.ts';
import { fastestMs } from '../../support/fastest.ts';

const parse = (text: string): unknown => atOnce(parseInSteps(text));

function outcomeOf(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    return error instanceof SyntaxError ? 'a syntax error' : error;
  }
}

const long = 'x'.repeat(70_000);
const escapes = '\\u0001\\"\\\\é\\ud83d\\ude00'.repeat(9_000);
const items = Array.from({ length: 30_000 }, (_, n) => `doc-${n}`);

describe('a long text, parsed in steps, gives what JSON.parse gives', () => {
  const texts: readonly (readonly [string, string])[] = [
    ['an array of texts', JSON.stringify(items)],
    ['an array with white space', JSON.stringify(items, null, 2)],
    ['an object', JSON.stringify(Object.fromEntries(items.map((id) => [id, [id]])))],
    ['an object in an object', `{"keys" : ${JSON.stringify(items)} , "n":1}`],
    ['a long text', JSON.stringify(long)],
    ['a text of escapes', `["${escapes}"]`],
    ['a member with a long name', `{"${escapes}":1,"${long}":{"a":null}}`],
    ['names that come twice', `{"a":1,"b":"${long}","a":2}`],
    ['a member of every name', `{"__proto__":{"a":1},"b":"${long}"}`],
    ['a long number', `[1,${'9'.repeat(70_000)}]`],
    ['nesting', `${'['.repeat(90)}${JSON.stringify(items)}${']'.repeat(90)}`],
    ['white space', `${' '.repeat(70_000)}[ ]${' '.repeat(70_000)}`],
    ['nothing but white space', ' '.repeat(70_000)],
    ['an array that ends with a comma', `[${JSON.stringify(items).slice(1, -1)},]`],
    ['an array that begins with a comma', `[,${JSON.stringify(items).slice(1)}`],
    ['two commas', `["${long}",,1]`],
    ['a wrong bracket', `["${long}"}`],
    ['a wrong bracket inside', `[${'{"a":[1]},'.repeat(9_000)}{"a":[1}]]`],
    ['no end', JSON.stringify(items).slice(0, -1)],
    ['no end of a text', `["${long}`],
    ['an escape that is none', `["${long}\\x"]`],
    ['an escape at the end', `["${long}\\`],
    ['a control character', `["${long}\n"]`],
    ['something behind the end', `["${long}"] 1`],
    ['a name without a value', `{"${long}"}`],
    ['a name that is no text', `{${'1'.repeat(70_000)}:1}`],
    ['a literal that is none', 'nul'.repeat(30_000)],
  ];

  test.for(texts)('%s', ([, text]) => {
    const expected = outcomeOf(() => JSON.parse(text));
    const value = outcomeOf(() => parse(text));
    expect(value).toEqual(expected);
    expect(JSON.stringify(value)).toBe(JSON.stringify(expected));
  });

  test('in more than one step', () => {
    let steps = 0;
    for (const _ of parseInSteps(JSON.stringify(items))) steps += 1;
    expect(steps).toBeGreaterThan(3);
  });
});

test.each([
  [
    '{"b":1,"a":[2],"b":3}',
    [
      ['b', 3],
      ['a', [2]],
    ],
  ],
  [
    `{"b":1, "a" : "${long}","__proto__":4,"b":3}`,
    [
      ['b', 3],
      ['a', long],
      ['__proto__', 4],
    ],
  ],
  ['[1]', undefined],
  [JSON.stringify(items), undefined],
])('the members of an object', (text, expected) => {
  const members = atOnce(parseMembersInSteps(text));
  expect(members && [...members]).toEqual(expected);
});

test('an object of a long text has as many members as may be', () => {
  const text = JSON.stringify({
    few: 1,
    many: Object.fromEntries(Array.from({ length: 9_000 }, (_, n) => [`m${n}`, n])),
  });
  expect(atOnce(parseInSteps(text, 9_000))).toEqual(JSON.parse(text));
  expect(() => atOnce(parseInSteps(text, 8_999))).toThrow(TooManyMembers);
});

test('what follows an object is no JSON', () => {
  expect(() => atOnce(parseMembersInSteps(`{"a":"${long}"}}`))).toThrow(SyntaxError);
});

describe('the depth of a text', () => {
  const nested = (depth: number) => `${'['.repeat(depth)}"[[[\\"["${']'.repeat(depth)}`;

  test.for([
    [nested(1_000), true],
    [nested(1_001), false],
    [`[${'[],'.repeat(5_000)}[]]`, true],
    [`"${'['.repeat(5_000)}"`, true],
  ] as const)('is that of its value', ([text, expected]) => {
    expect(isShallow(JSON.parse(text))).toBe(expected);
    expect(isShallowText(text)).toBe(expected);
  });

  test('is known before the end of a text that never ends', () => {
    // Encoded and decoded, so that it is one flat text as those of requests are.
    const texts = ['[', '{"a":'].map((piece) => new TextDecoder().decode(Buffer.alloc(50_000_000, piece)));
    const ms = fastestMs(() => {
      for (const text of texts) expect(isShallowText(text)).toBe(false);
    });
    expect(ms).toBeLessThan(50);
  });
});
