import { describe, expect, test } from 'vitest';
import { isShallow, isShallowText } from '../../../../src/base/json/nesting.ts';
import { parseInSteps, parseMembersInSteps, parseWantedInSteps } from '../../../../src/base/json/parse-in-steps.ts';
import { atOnce } from '../../../../src/base/shared/turn.ts';
import { timesSlower } from '../../../support/fastest.ts';

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

describe('a long text parsed in steps has the same value as with JSON.parse', () => {
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
    ['a name that is no text', `{${'1'.repeat(1_050_000)}:1}`],
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
])('an object has at most as many members as the limit', (text, expected) => {
  const members = atOnce(parseMembersInSteps(text));
  expect(members && [...members]).toEqual(expected);
});

test('text after an object is refused as invalid JSON', () => {
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

  test('is known before the end of an endless text', () => {
    // Encoded and decoded, so that it is one flat text as those of requests are.
    const texts = ['[', '{"a":'].map((piece) => new TextDecoder().decode(Buffer.alloc(50_000_000, piece)));
    const slowness = timesSlower(
      () => {
        for (const text of texts) expect(isShallowText(text)).toBe(false);
      },
      () => {
        for (const text of texts) expect(text.indexOf(']')).toBe(-1);
      },
    );
    // Looking at all of it takes longer than one of the fastest loops there is.
    expect(slowness).toBeLessThan(1);
  });
});

describe('parsing only wanted members', () => {
  const isWanted = (name: string) => name.startsWith('_');
  const wantedOf = (text: string) => atOnce(parseWantedInSteps(text, isWanted));
  const many = JSON.stringify(Array.from({ length: 30_000 }, (_, n) => [n, {}]));

  test('drops the others, and counts their names', () => {
    const text = `{"a":${many},"_b":[1],"a":{"x":${many}},"_c":["${long}"],"d":"${long}"}`;
    expect(wantedOf(text)).toEqual({ distinct: 4, wanted: { _b: [1], _c: [long] } });
    expect(wantedOf('{"a":1,"_b":2,"a":3}')).toEqual({ distinct: 2, wanted: { _b: 2 } });
    expect(wantedOf('[1]')).toBe(undefined);
  });

  test.each([
    ['a member', `{"a":${many.slice(0, -1)},],"_b":1}`],
    ['an inner object', `{"a":{"x":${many},1},"_b":1}`],
    ['a string', `{"a":"${long}\\x","_b":1}`],
    ['what follows', `{"a":${many}}}`],
  ])('finds invalid JSON in %s', (_where, text) => {
    expect(() => wantedOf(text)).toThrow(SyntaxError);
  });

  test('accepts at most 500,000 values in the wanted ones', () => {
    const list = (count: number) => JSON.stringify(Array.from({ length: count }, (_, n) => n % 10));
    expect(wantedOf(`{"a":${list(600_000)},"_b":${list(500_000)}}`)?.distinct).toBe(2);
    expect(() => wantedOf(`{"_b":${list(500_001)}}`)).toThrow('too_large: The members of a document that begin with _');
    const object = (count: number) => `{${Array.from({ length: count }, (_, n) => `"n${n}":0`)}}`;
    expect(wantedOf(`{"a":${object(100_001)},"_b":${object(100_000)}}`)?.distinct).toBe(2);
    expect(() => wantedOf(`{"_b":${object(100_001)}}`)).toThrow('too_large: An object in a member that begins with _');
  });
});

test('a number has at most 1,048,576 characters', () => {
  expect(atOnce(parseInSteps(`[0.${'0'.repeat(65_000)},1]`))).toEqual([0, 1]);
  expect(() => atOnce(parseInSteps(`[${'1'.repeat(1_050_000)}]`))).toThrow(
    'bad_request: A number has more than 1048576 characters. Send it as a string.',
  );
});
