import fc from 'fast-check';
import { expect, test } from 'vitest';
import { StreamedProjection } from '../../../../src/queries/sandbox/programs/projection.ts';

function projected(pieces: readonly string[], members: readonly string[]): string {
  const projection = new StreamedProjection(new Set(members));
  return pieces.map((piece) => projection.next(piece)).join('');
}

test.each([
  [['a'], '{"a":1}'],
  [['d'], '{"d":"4"}'],
  [['a', 'c'], '{"a":1,"c":{"a":3,"b":[{"d":"}"}]}}'],
  [['b', 'c', 'd'], '{"b":[2,"],"],"c":{"a":3,"b":[{"d":"}"}]},"d":"4"}'],
  [['x'], '{}'],
])('a streamed projection keeps only %j', (members, expected) => {
  const text = '{"a":1,"b":[2,"],"],"c":{"a":3,"b":[{"d":"}"}]},"d":"4"}';
  expect(projected([text], members)).toBe(expected);
  expect(projected([...text], members)).toBe(expected);
});

test('a streamed projection of an object without members is empty', () =>
  expect(projected(['{', '}'], ['a'])).toBe('{}'));

test('a streamed projection finds escaped names and values, cut anywhere', () => {
  const text = '{"a\\"b":"\\\\","\\u0063":"\\"","d":"\\\\\\""}';
  for (let at = 0; at <= text.length; at++) {
    const pieces = [text.slice(0, at), text.slice(at)];
    expect(projected(pieces, ['c'])).toBe('{"\\u0063":"\\""}');
    expect(projected(pieces, ['a"b', 'd'])).toBe('{"a\\"b":"\\\\","d":"\\\\\\""}');
  }
});

test('a streamed projection of any object, in pieces of any length, has the kept members', () => {
  const name = fc.oneof(fc.constantFrom('a', 'b', '"', '\\'), fc.string({ maxLength: 3 }));
  const object = fc.dictionary(name, fc.jsonValue({ maxDepth: 3 }), { noNullPrototype: true });
  fc.assert(
    fc.property(object, fc.array(name), fc.integer({ min: 1, max: 9 }), (value, members, length) => {
      const text = JSON.stringify(value);
      const pieces = Array.from({ length: Math.ceil(text.length / length) }, (_, n) =>
        text.slice(n * length, (n + 1) * length),
      );
      const kept = Object.entries(value).filter(([member]) => members.includes(member));
      expect(projected(pieces, members)).toBe(JSON.stringify(Object.fromEntries(kept)));
    }),
    { numRuns: 2_000 },
  );
});
