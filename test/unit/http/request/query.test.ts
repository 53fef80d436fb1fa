import { expect, test } from 'vitest';
import { Query } from '../../../../src/http/request/address.ts';

test('query values are decoded, and the first of a name counts', () => {
  const query = new Query('rev=1-a%2Bb&rev=2&key=%22a+b%22&empty=');
  expect(query.get('rev')).toBe('1-a+b');
  expect(query.get('key')).toBe('"a b"');
  expect(query.get('empty')).toBe('');
  expect(query.get('absent')).toBeUndefined();
  expect(query.get('__proto__')).toBeUndefined();
  expect([...query.entries()].map(([name]) => name)).toEqual(['rev', 'rev', 'key', 'empty']);
});

test('a flag is on only with the literal true', () => {
  const query = new Query('a=true&b=TRUE&c=1&d=');
  expect(['a', 'b', 'c', 'd', 'e'].map((name) => query.flag(name))).toEqual([true, false, false, false, false]);
});

test('an empty query has no values', () => {
  expect(new Query('').isEmpty).toBe(true);
  expect(new Query('').get('a')).toBeUndefined();
  expect([...new Query('').entries()]).toEqual([]);
});
