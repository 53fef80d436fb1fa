import { afterEach, describe, expect, test, vi } from 'vitest';
import { JsonPieces } from '../../../../src/browser/client/json-pieces.ts';

afterEach(() => void vi.restoreAllMocks());

/** What comes of the pieces, and the longest text that was still to be parsed when the last of them was there. */
function parseLate(pieces: readonly string[]) {
  const parser = new JsonPieces();
  for (const piece of pieces) parser.add(piece);
  const parse = vi.spyOn(JSON, 'parse');
  const value = parser.parse();
  const longest = Math.max(...parse.mock.calls.map(([text]) => text.length));
  parse.mockRestore();
  return { value, longest };
}

const row = (id: number) => `{"id":"a${id}","key":[${id}],"doc":{"text":"${'x'.repeat(1000)}"}}`;
const rowValue = (id: number) => ({ id: `a${id}`, key: [id], doc: { text: 'x'.repeat(1000) } });

describe('rows that arrive in pieces are parsed before the last one is there', () => {
  test('as lists are sent', () => {
    const { value, longest } = parseLate([
      `{"total_rows":4,"offset":0,"rows":[\r\n${row(1)},\r\n${row(2)}`,
      `,\r\n${row(3)}`,
      `,\r\n${row(4)}`,
      '\r\n]}\n',
    ]);
    expect(value).toEqual({ total_rows: 4, offset: 0, rows: [1, 2, 3, 4].map(rowValue) });
    expect(longest).toBeLessThan(100);
  });

  test('with members after the list', () => {
    const { value, longest } = parseLate([`{"docs":[${row(1)}`, `,${row(2)}`, '],"bookmark":"nil","warning":"a ]"}']);
    expect(value).toEqual({ docs: [1, 2].map(rowValue), bookmark: 'nil', warning: 'a ]' });
    expect(longest).toBeGreaterThan(1000);
    const other = parseLate([`{"docs":[${row(1)}`, `,${row(2)}`, '],"bookmark":"nil"}']);
    expect(other.value).toEqual({ docs: [1, 2].map(rowValue), bookmark: 'nil' });
    expect(other.longest).toBeLessThan(100);
  });
});

test('a text cut within a row is parsed as a whole', () => {
  const text = `{"rows":[${row(1)},${row(2)}]}`;
  const { value } = parseLate([text.slice(0, 700), text.slice(700)]);
  expect(value).toEqual({ rows: [1, 2].map(rowValue) });
});

test('of two members with the same name the last counts', () => {
  expect(parseLate(['{"rows":[1', ',2', '],"rows":3}']).value).toEqual({ rows: 3 });
  expect(parseLate(['{"a":1,"rows":0,"b":2,"rows":[1', ',2', ']}']).value).toEqual({ a: 1, rows: [1, 2], b: 2 });
});

test('members have the order of JSON.parse', () => {
  const { value } = parseLate(['{"b":1,"7":[1', ',2', '],"a":3}']);
  expect(JSON.stringify(value)).toBe('{"7":[1,2],"b":1,"a":3}');
});

test('a list that is called __proto__ is a member like any other', () => {
  const { value } = parseLate(['{"__proto__":[1', ',2', ']}']);
  expect(JSON.stringify(value)).toBe('{"__proto__":[1,2]}');
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
});

test.for([
  [['{"rows":[1', '2', ']}'], { rows: [12] }],
  [['{"rows":[1', ' ', ',2]}'], { rows: [1, 2] }],
  [
    ['[1', ',2', ']'],
    [1, 2],
  ],
  [['{"a":{"rows":[1', ',2', ']}}'], { a: { rows: [1, 2] } }],
  [['{"a":"[1', ',2', ']"}'], { a: '[1,2]' }],
  [['{"rows":[', '\r\n', '\r\n]}\n'], { rows: [] }],
  [['5'], 5],
] as const)('%j is parsed as %j', ([pieces, value]) => {
  expect(parseLate(pieces).value).toEqual(value);
});

test.for([
  [['{"rows":[1', ',', ']}']],
  [['{"rows":[1', ',2', ',]}']],
  [['{"rows":[', ',1', ']}']],
  [['{"rows":[1', ' 2', ']}']],
  [['{"rows":[1', ',2']],
  [['{"rows":[1', ',2', ']}', 'x']],
  [['{"rows":[1', '],[2', ']}']],
  [[]],
])('%j is refused as invalid JSON', ([pieces = []]) => {
  expect(() => parseLate(pieces)).toThrow(SyntaxError);
});
