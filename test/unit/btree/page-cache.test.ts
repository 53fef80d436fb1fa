import { describe, expect, test } from 'vitest';
import { PageCache } from '../../../src/btree/page-cache.ts';

describe('a page cache', () => {
  test('gives what was set, until it is set again or deleted', () => {
    const cache = new PageCache(100);
    const value = new Uint8Array(3);
    cache.set(1, value, 10, 'body');
    expect(cache.get(1)).toBe(value);
    cache.set(1, 'leaf', 30, 'leaf');
    expect(cache.get(1)).toBe('leaf');
    expect(cache.bytes).toBe(30);
    cache.delete(1);
    cache.delete(2);
    expect(cache.get(1)).toBeUndefined();
    expect(cache.bytes).toBe(0);
  });

  test('gives up bodies before leaves and leaves before inner nodes, whenever they came', () => {
    const cache = new PageCache(40);
    cache.set(1, 'inner', 10, 'inner');
    cache.set(2, 'leaf', 10, 'leaf');
    cache.set(3, 'body', 10, 'body');
    cache.set(4, 'inner', 10, 'inner');
    cache.set(5, 'inner', 10, 'inner');
    expect([1, 2, 3, 4, 5].map((page) => cache.get(page))).toEqual(['inner', 'leaf', undefined, 'inner', 'inner']);
    cache.set(6, 'leaf', 10, 'leaf');
    expect([1, 2, 4, 5, 6].map((page) => cache.get(page))).toEqual(['inner', undefined, 'inner', 'inner', 'leaf']);
  });

  test('gives up the oldest of a rank first, but not what was read since', () => {
    const cache = new PageCache(30);
    for (const page of [1, 2, 3]) cache.set(page, page, 10, 'leaf');
    cache.get(1);
    cache.set(4, 4, 10, 'leaf');
    expect(cache.get(2)).toBeUndefined();
    expect(cache.get(1)).toBe(1);
    cache.set(5, 5, 10, 'leaf');
    expect(cache.get(3)).toBeUndefined();
    expect(cache.get(1)).toBe(1);
  });

  test('finds room when all was read', () => {
    const cache = new PageCache(30);
    for (const page of [1, 2, 3]) cache.set(page, page, 10, 'leaf');
    for (const page of [1, 2, 3]) cache.get(page);
    cache.set(4, 4, 20, 'leaf');
    expect(cache.bytes).toBe(30);
    expect([1, 2, 3, 4].map((page) => cache.get(page))).toEqual([undefined, undefined, 3, 4]);
  });

  test('never exceeds its bound, and passes over what is larger than all of it', () => {
    const cache = new PageCache(100);
    cache.set(1, 'small', 40, 'leaf');
    cache.set(2, 'large', 101, 'inner');
    expect(cache.get(1)).toBe('small');
    expect(cache.get(2)).toBeUndefined();
    for (let page = 3; page < 50; page += 1) {
      cache.set(page, page, (page * 7) % 60, 'body');
      expect(cache.bytes).toBeLessThanOrEqual(100);
    }
  });

  test('forgets all when cleared', () => {
    const cache = new PageCache(100);
    cache.set(1, 'leaf', 10, 'leaf');
    cache.clear();
    expect(cache.get(1)).toBeUndefined();
    expect(cache.bytes).toBe(0);
    cache.set(2, 'leaf', 100, 'leaf');
    expect(cache.get(2)).toBe('leaf');
  });
});
