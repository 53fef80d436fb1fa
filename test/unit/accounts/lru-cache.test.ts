import { expect, test } from 'vitest';
import { LruCache } from '../../../src/accounts/lru-cache.ts';

function filled(most: () => number, keys: string): LruCache<string, string> {
  const entries = new LruCache<string, string>(most);
  for (const key of keys) entries.set(key, key.toUpperCase());
  return entries;
}

const kept = (entries: LruCache<string, string>, keys: string) =>
  [...keys].filter((key) => entries.get(key) !== undefined).join('');

test('the entry least recently used is removed first', () => {
  const entries = filled(() => 3, 'abc');
  // Again and again for one, then for another.
  for (const key of 'caaab') entries.get(key);
  entries.set('d', 'D');
  expect(entries.size).toBe(3);
  expect(kept(entries, 'abcd')).toBe('abd');
});

test('a removed entry is gone, and is the latest when it is added again', () => {
  const entries = filled(() => 2, 'ab');
  entries.get('b');
  entries.delete('b');
  expect(entries.get('b')).toBeUndefined();
  entries.set('b', 'B');
  entries.set('c', 'C');
  expect(kept(entries, 'abc')).toBe('bc');
  entries.keepWhere((value) => value !== 'C');
  expect(kept(entries, 'abc')).toBe('b');
});

test('the capacity can be reduced, also to zero', () => {
  let most = 3;
  const entries = filled(() => most, 'abc');
  most = 1;
  entries.set('d', 'D');
  expect(kept(entries, 'abcd')).toBe('d');
  most = 0;
  entries.set('e', 'E');
  expect(kept(entries, 'abcde')).toBe('');
});
