import { describe, expect, test } from 'vitest';
import { fieldAt, fieldsOf, usualColumns } from '../../../../src/admin/documents/fields.ts';
import { idRange, LAST_CHARACTER, parseSelector } from '../../../../src/admin/documents/row-sources/filter.ts';
import { countAll, walk } from '../../../../src/admin/documents/row-sources/walk.ts';
import {
  ALL,
  countOf,
  isEmpty,
  isSelected,
  NONE,
  toggled,
  withIds,
} from '../../../../src/admin/documents/selection.ts';

describe('a selection', () => {
  test('has the documents that were chosen one by one', () => {
    const two = toggled(toggled(NONE, 'a'), 'b');
    expect([isSelected(two, 'a'), isSelected(two, 'c'), countOf(two, 10)]).toEqual([true, false, 2]);
    expect(isEmpty(toggled(toggled(two, 'a'), 'b'))).toBe(true);
  });

  test('has all that match, except those that were taken out', () => {
    const most = toggled(ALL, 'a');
    expect([isSelected(most, 'a'), isSelected(most, 'z'), countOf(most, 10)]).toEqual([false, true, 9]);
    expect(countOf(most, undefined)).toBe(undefined);
    expect(isSelected(toggled(most, 'a'), 'a')).toBe(true);
  });

  test('takes ranges in either case', () => {
    expect([...withIds(NONE, ['a', 'b'], true).ids]).toEqual(['a', 'b']);
    expect([...withIds(withIds(ALL, ['a', 'b'], false), ['b'], true).ids]).toEqual(['a']);
  });
});

describe('counting', () => {
  const signal = new AbortController().signal;

  test('goes through all pages and tells how far it is', async () => {
    const told: number[] = [];
    const read = async (cursor = '0') => {
      const next = Number(cursor) + 1;
      return { rows: Array(cursor === '2' ? 5 : 10).fill('row'), next: next < 3 ? `${next}` : undefined };
    };
    expect(await countAll(walk(read, signal), (soFar) => told.push(soFar))).toBe(25);
    expect(told).toEqual([10, 20, 25]);
  });

  test('stops between two pages', async () => {
    const controller = new AbortController();
    let pages = 0;
    const read = async () => {
      pages += 1;
      if (pages === 2) controller.abort();
      return { rows: ['row'], next: 'more' };
    };
    await expect(countAll(walk(read, controller.signal), () => undefined)).rejects.toThrow();
    expect(pages).toBe(2);
  });

  test('of nothing is 0', async () => {
    expect(
      await countAll(
        walk(async () => ({ rows: [], next: undefined }), signal),
        () => undefined,
      ),
    ).toBe(0);
  });
});

describe('fields', () => {
  test('are found by their paths', () => {
    const doc = { a: { b: [{ c: 1 }] }, 'd.e': 2 };
    expect(fieldAt(doc, 'a.b.0.c')).toBe(1);
    expect(fieldAt(doc, 'd\\.e')).toBe(2);
    expect(fieldAt(doc, 'a.toString')).toBe(undefined);
    expect(fieldAt(doc, 'x.y')).toBe(undefined);
  });

  test('of documents are those that most of them have first, and those inside of objects', () => {
    const docs = [
      { _id: '1', _rev: '1-x', title: 'a', address: { city: 'b' } },
      { _id: '2', _rev: '1-x', title: 'c', 'e.f': 1 },
    ];
    expect(fieldsOf(docs)).toEqual(['title', 'address', 'address.city', 'e\\.f']);
    expect(usualColumns(fieldsOf(docs))).toEqual(['title', 'address', 'e\\.f']);
  });
});

describe('a filter', () => {
  test('by the beginning of ids is a range that has all of them', () => {
    const range = idRange({ kind: 'prefix', prefix: 'a' });
    expect(range).toEqual({ startkey: 'a', endkey: `a${LAST_CHARACTER}` });
    // As bytes, emoji come after U+FFF0.
    expect(Buffer.compare(Buffer.from('a😀'), Buffer.from(range?.endkey ?? ''))).toBe(-1);
    expect(idRange({ kind: 'prefix', prefix: '' })).toEqual({});
  });

  test('of design documents is a range', () => {
    expect(idRange({ kind: 'design' })).toEqual({ startkey: '_design/', endkey: `_design/${LAST_CHARACTER}` });
  });

  test('by a selector takes a selector, or a query that has one', () => {
    expect(parseSelector('{"year": 1815}')).toEqual({ year: 1815 });
    expect(parseSelector('{"selector": {"year": 1815}, "limit": 5}')).toEqual({ year: 1815 });
    expect(parseSelector('[1]')).toContain('A selector is a JSON object');
    expect(parseSelector('{')).toContain('The selector is not JSON');
  });
});
