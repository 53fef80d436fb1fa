import { describe, expect, test } from 'vitest';
import { ListCutter } from '../../../../src/base/json/list-cutter.ts';

function cut(text: string, pieceLength = text.length || 1): { elements: string[]; rest: unknown } {
  const cutter = new ListCutter('results');
  const elements: string[] = [];
  for (let at = 0; at < text.length; at += pieceLength) elements.push(...cutter.push(text.slice(at, at + pieceLength)));
  return { elements, rest: cutter.finish() };
}

const texts: readonly [string, string[], unknown][] = [
  ['{"results":[]}', [], { results: 0 }],
  ['{"results":[{"a":1}]}', ['{"a":1}'], { results: 0 }],
  ['[{"a":[1,2]},[3]]', ['{"a":[1,2]}', '[3]'], {}],
  [
    '{"results" : [\n{"a":"]}\\"[{"},\n{"b":{}}\n],\n"last_seq":3}\n',
    ['{"a":"]}\\"[{"}', '{"b":{}}'],
    { results: 0, last_seq: 3 },
  ],
  [
    '{"last_seq":"1-x","more":{"results":[1]},"results":[{}]}',
    ['{}'],
    { last_seq: '1-x', more: { results: [1] }, results: 0 },
  ],
  [
    '{"a":"\\\\","results":[{"x":"\\\\"},{"y":"\\\\\\""}]}',
    ['{"x":"\\\\"}', '{"y":"\\\\\\""}'],
    { a: '\\', results: 0 },
  ],
];

describe('the elements of a list', () => {
  test.each(texts)('of %s are cut in pieces of any length', (text, elements, rest) => {
    for (let length = 1; length <= text.length; length++) expect(cut(text, length)).toEqual({ elements, rest });
  });

  test('keep their text', () => {
    expect(cut('[ {"b":1.50, "a":1e2 } ]').elements).toEqual(['{"b":1.50, "a":1e2 }']);
  });

  test.each([
    '',
    '{',
    '{"results":[',
    '{"results":[{"a":1}',
    '{"results":[{"a":"',
    '{"results":[{}]',
    '{"rows":[]}',
    '{"results":[1]}',
    '[{}',
  ])('are reported as broken off or absent: %s', (text) => {
    expect(() => cut(text)).toThrow(SyntaxError);
  });
});
