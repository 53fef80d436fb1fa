import { describe, expect, test } from 'vitest';
import { type BudgetedEntry, CacheBudget } from '../../../../src/base/shared/cache-budget.ts';

class Entry implements BudgetedEntry {
  readonly name: string;
  readonly bytes: number;
  readonly rank: number;
  isUsed = false;
  readonly #gone: string[];

  constructor(gone: string[], name: string, bytes: number, rank = 0) {
    this.name = name;
    this.bytes = bytes;
    this.rank = rank;
    this.#gone = gone;
  }

  evict(): void {
    this.#gone.push(this.name);
  }
}

/** A budget of 100 bytes with the entries that were given up, in their order. */
class Shelf {
  readonly budget = new CacheBudget(100);
  readonly gone: string[] = [];

  put(name: string, bytes: number, rank?: number): Entry {
    const entry = new Entry(this.gone, name, bytes, rank);
    expect(this.budget.admit(entry)).toBe(true);
    return entry;
  }
}

describe('a cache budget', () => {
  test('counts what it holds until it is released', () => {
    const { budget, gone } = new Shelf();
    const [small, large] = [new Entry(gone, 'small', 30), new Entry(gone, 'large', 70, 2)];
    expect(budget.admit(small)).toBe(true);
    expect(budget.admit(large)).toBe(true);
    expect(budget.bytes).toBe(100);
    budget.release(large);
    budget.release(large);
    expect(budget.bytes).toBe(30);
    expect(gone).toEqual([]);
  });

  test('evicts lower ranks before higher ones, whatever their age', () => {
    const shelf = new Shelf();
    shelf.put('low', 20, 0);
    shelf.put('high', 40, 2);
    shelf.put('middle', 40, 1);
    shelf.put('new low', 20, 0);
    expect(shelf.gone).toEqual(['low']);
    shelf.put('new high', 50, 2);
    expect(shelf.gone).toEqual(['low', 'new low', 'middle']);
    expect(shelf.budget.bytes).toBe(90);
  });

  test('gives entries that were read a second chance', () => {
    const shelf = new Shelf();
    const first = shelf.put('first', 50);
    shelf.put('second', 50);
    first.isUsed = true;
    shelf.put('third', 50);
    expect(shelf.gone).toEqual(['second']);
    expect(first.isUsed).toBe(false);
    shelf.put('fourth', 100);
    expect(shelf.gone).toEqual(['second', 'first', 'third']);
  });

  test('refuses an entry larger than itself, and evicts nothing for it', () => {
    const shelf = new Shelf();
    shelf.put('small', 100);
    expect(shelf.budget.admit(new Entry(shelf.gone, 'large', 101))).toBe(false);
    expect(shelf.budget.bytes).toBe(100);
    expect(shelf.gone).toEqual([]);
    expect(new CacheBudget(0).admit(new Entry([], 'any', 1))).toBe(false);
  });

  test('evicts at once what no longer fits when it becomes smaller', () => {
    const shelf = new Shelf();
    shelf.put('first', 40);
    const second = shelf.put('second', 40);
    second.isUsed = true;
    shelf.put('third', 20);
    shelf.budget.resize(30);
    expect([shelf.gone, shelf.budget.bytes]).toEqual([['first', 'third', 'second'], 0]);
    shelf.put('fourth', 30);
    shelf.budget.resize(60);
    shelf.put('fifth', 30);
    expect(shelf.gone).toHaveLength(3);
  });

  test('evicts unread entries of high rank from an idle cache, and keeps those that are read', () => {
    const shelf = new Shelf();
    for (let index = 0; index < 6; index += 1) shelf.put(`resting ${index}`, 10, 2);
    const read = shelf.put('read', 10, 2);
    for (let step = 0; step < 500; step += 1) {
      read.isUsed = true;
      shelf.put('busy', 10, 0);
    }
    const resting = shelf.gone.filter((name) => name !== 'busy');
    expect(resting).toEqual(['resting 0', 'resting 1', 'resting 2', 'resting 3', 'resting 4', 'resting 5']);
    expect(shelf.budget.bytes).toBe(100);
  });

  test('keeps high-rank entries that are read occasionally against any number of lower ones', () => {
    const shelf = new Shelf();
    const inner = Array.from({ length: 5 }, (_unused, index) => shelf.put(`inner ${index}`, 10, 2));
    for (let step = 0; step < 2_000; step += 1) {
      const one = inner[step % 5];
      if (one !== undefined) one.isUsed = true;
      shelf.put('leaf', 10, 1);
    }
    expect(new Set(shelf.gone)).toEqual(new Set(['leaf']));
  });
});
