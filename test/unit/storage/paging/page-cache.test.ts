import { describe, expect, test } from 'vitest';
import { CacheBudget } from '../../../../src/base/shared/cache-budget.ts';
import { PageCache } from '../../../../src/storage/paging/page-cache.ts';

describe('a page cache', () => {
  test('returns what was set, until it is set again or deleted', () => {
    const budget = new CacheBudget(100);
    const cache = new PageCache(budget);
    const value = new Uint8Array(3);
    cache.set(1, value, 10, 'body');
    expect(cache.get(1)).toBe(value);
    cache.set(1, 'leaf', 30, 'leaf');
    expect(cache.get(1)).toBe('leaf');
    expect(budget.bytes).toBe(30);
    cache.delete(1);
    cache.delete(2);
    expect(cache.get(1)).toBeUndefined();
    expect(budget.bytes).toBe(0);
  });

  test('evicts bodies before leaves and leaves before inner nodes, whatever their age', () => {
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

  test('evicts the oldest of a rank first, unless it was read since', () => {
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

  test('makes room even if all pages were read', () => {
    const budget = new CacheBudget(30);
    const cache = new PageCache(budget);
    for (const page of [1, 2, 3]) cache.set(page, page, 10, 'leaf');
    for (const page of [1, 2, 3]) cache.get(page);
    cache.set(4, 4, 20, 'leaf');
    expect(budget.bytes).toBe(30);
    expect([1, 2, 3, 4].map((page) => cache.get(page))).toEqual([undefined, undefined, 3, 4]);
  });

  test('never exceeds its limit, and ignores a page larger than itself', () => {
    const budget = new CacheBudget(100);
    const cache = new PageCache(budget);
    cache.set(1, 'small', 40, 'leaf');
    cache.set(2, 'large', 101, 'inner');
    expect(cache.get(1)).toBe('small');
    expect(cache.get(2)).toBeUndefined();
    for (let page = 3; page < 50; page += 1) {
      cache.set(page, page, (page * 7) % 60, 'body');
      expect(budget.bytes).toBeLessThanOrEqual(100);
    }
  });
});

describe('page caches that share one budget', () => {
  test('separate the same page numbers of different files', () => {
    const budget = new CacheBudget(100);
    const [one, other] = [new PageCache(budget), new PageCache(budget)];
    one.set(1, 'of one', 10, 'leaf');
    other.set(1, 'of the other', 20, 'leaf');
    expect([one.get(1), other.get(1)]).toEqual(['of one', 'of the other']);
    one.delete(1);
    expect([one.get(1), other.get(1)]).toEqual([undefined, 'of the other']);
    expect(budget.bytes).toBe(20);
  });

  test('never exceed it together, and pages of active files displace those of idle ones', () => {
    const budget = new CacheBudget(100);
    const [resting, busy] = [new PageCache(budget), new PageCache(budget)];
    for (let page = 1; page <= 10; page += 1) resting.set(page, page, 10, 'leaf');
    for (let page = 1; page <= 8; page += 1) busy.set(page, page, 10, 'leaf');
    expect(budget.bytes).toBe(100);
    expect(busy.get(1)).toBe(1);
    expect(resting.get(8)).toBeUndefined();
    expect(resting.get(9)).toBe(9);
  });

  test('evict bodies of any file before leaves of another, and leaves before inner nodes', () => {
    const budget = new CacheBudget(40);
    const [one, other] = [new PageCache(budget), new PageCache(budget)];
    one.set(1, 'leaf', 10, 'leaf');
    one.set(2, 'inner', 10, 'inner');
    other.set(1, 'body', 10, 'body');
    other.set(2, 'leaf', 10, 'leaf');
    other.set(3, 'inner', 10, 'inner');
    expect(other.get(1)).toBeUndefined();
    other.set(4, 'inner', 10, 'inner');
    expect([one.get(1), one.get(2), other.get(2)]).toEqual([undefined, 'inner', 'leaf']);
  });

  test('release their room when they are closed, and store nothing after that', () => {
    const budget = new CacheBudget(100);
    const [one, other] = [new PageCache(budget), new PageCache(budget)];
    one.set(1, 'leaf', 60, 'leaf');
    other.set(1, 'leaf', 30, 'leaf');
    one.close();
    expect(budget.bytes).toBe(30);
    one.set(2, 'late', 10, 'leaf');
    expect([one.get(1), one.get(2), budget.bytes]).toEqual([undefined, undefined, 30]);
    other.set(2, 'leaf', 70, 'leaf');
    expect(other.get(1)).toBe('leaf');
  });
});
