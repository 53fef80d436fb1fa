import { expect, test } from 'vitest';
import { isObject, ownMember } from '../../../../src/base/json/objects.ts';

test.each([
  [{}, true],
  [[], false],
  [null, false],
  ['a', false],
  [1, false],
  [undefined, false],
])('isObject(%j) is %s', (value, expected) => {
  expect(isObject(value)).toBe(expected);
});

test('ownMember() ignores inherited members', () => {
  expect(ownMember({ a: 1 }, 'a')).toBe(1);
  expect(ownMember({}, 'constructor')).toBeUndefined();
});
