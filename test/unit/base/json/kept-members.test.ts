import { expect, test } from 'vitest';
import { JsonCursor } from '../../../../src/base/json/json-cursor.ts';
import { KeptMembers } from '../../../../src/base/json/kept-members.ts';

function withoutMembers(text: string, names: readonly string[]): string {
  const cursor = new JsonCursor(text);
  const kept = new KeptMembers(text);
  kept.begin(0);
  cursor.enter();
  while (cursor.nextMember()) {
    if (names.includes(cursor.name)) kept.leaveOut();
    else kept.keep(cursor.keyStart, cursor.valueEnd);
  }
  return kept.objectText(cursor.position);
}

const object = '{"a":1, "b":[2],"c":{"a":3},"d":"4"}';

test.each([
  [[], object],
  [['a'], '{"b":[2],"c":{"a":3},"d":"4"}'],
  [['d'], '{"a":1, "b":[2],"c":{"a":3}}'],
  [['b'], '{"a":1,"c":{"a":3},"d":"4"}'],
  [['a', 'c'], '{"b":[2],"d":"4"}'],
  [['b', 'c'], '{"a":1,"d":"4"}'],
  [['a', 'b', 'c', 'd'], '{}'],
])('withoutMembers() removes %j', (names, expected) => {
  expect(withoutMembers(object, names)).toBe(expected);
});

test('withoutMembers() leaves an object without members unchanged', () =>
  expect(withoutMembers('{ }', ['a'])).toBe('{ }'));
