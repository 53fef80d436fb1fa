import { describe, expect, test } from 'vitest';
import {
  type BulkChange,
  changed,
  parsePatch,
  parseRemove,
  parseSet,
} from '../../../../src/admin/documents/bulk/change.ts';
import { isSame, mayHaveLostDigits, parseExact } from '../../../../src/admin/documents/bulk/exact-json.ts';
import type { JsonObject } from '../../../../src/admin/server/json.ts';

function applied(change: BulkChange | string, members: JsonObject): unknown {
  if (typeof change === 'string') return change;
  return changed({ id: 'a', rev: '1-x', doc: { _id: 'a', _rev: '1-x', ...members } }, change);
}

describe('a change of many documents', () => {
  test('sets a field, and makes the objects on the way', () => {
    expect(applied(parseSet('year', '1815'), { n: 1 })).toEqual({
      write: { _id: 'a', _rev: '1-x', n: 1, year: 1815 },
    });
    expect(applied(parseSet('address.city', '"Bath"'), {})).toEqual({
      write: { _id: 'a', _rev: '1-x', address: { city: 'Bath' } },
    });
    expect(applied(parseSet('a\\.b', 'true'), {})).toEqual({ write: { _id: 'a', _rev: '1-x', 'a.b': true } });
  });

  test('does not replace a value by an object to set something in it', () => {
    expect(applied(parseSet('address.city', '"Bath"'), { address: 'Bath' })).toEqual({
      error: 'does not fit',
      refused: 'address is not an object, so nothing can be set in it.',
    });
  });

  test('leaves out documents that it does not alter', () => {
    expect(applied(parseSet('year', '1815'), { year: 1815 })).toEqual({ same: true });
    expect(applied(parseRemove('year'), { n: 1 })).toEqual({ same: true });
    expect(applied(parsePatch('{"a": {"b": 1}}'), { a: { c: 2, b: 1 } })).toEqual({ same: true });
  });

  test('removes a field', () => {
    expect(applied(parseRemove('a.b'), { a: { b: 1, c: 2 } })).toEqual({
      write: { _id: 'a', _rev: '1-x', a: { c: 2 } },
    });
  });

  test('merges an object, or applies a list of operations', () => {
    expect(applied(parsePatch('{"n": null, "m": 2}'), { n: 1 })).toEqual({ write: { _id: 'a', _rev: '1-x', m: 2 } });
    expect(applied(parsePatch('[{"op": "add", "path": "/tags/-", "value": "b"}]'), { tags: ['a'] })).toEqual({
      write: { _id: 'a', _rev: '1-x', tags: ['a', 'b'] },
    });
  });

  test('says why it can not be used', () => {
    expect(parseSet('', '1')).toContain('Name the field');
    expect(parseSet('_id', '1')).toContain('_id belongs to the database');
    expect(parseSet('a', 'Bath')).toContain('A text stands in quotes');
    expect(parseRemove('_attachments.a')).toContain('_attachments belongs to the database');
    expect(parsePatch('{"_rev": null}')).toContain('_rev belongs to the database');
    expect(parsePatch('[{"op": "remove", "path": "/_id"}]')).toContain('_id belongs to the database');
    expect(parsePatch('[{"op": "move", "from": "/_id", "path": "/b"}]')).toContain('_id belongs to the database');
    expect(parsePatch('{}')).toBe('The change is empty.');
    expect(parsePatch('[]')).toBe('The change is empty.');
    expect(parsePatch('1')).toContain('A change is an object');
    expect(parsePatch('{')).toContain('This is not JSON');
  });

  test('deletes with nothing but the revision', () => {
    expect(applied({ kind: 'delete' }, { n: 1 })).toEqual({ write: { _id: 'a', _rev: '1-x', _deleted: true } });
  });
});

describe('numbers', () => {
  /** As `JSON.rawJSON`, which Node does not have yet. */
  const keep = (source: string) => ({ rawJSON: source });

  const large = Number('12345678901234567890');

  test('that the browser can not keep refuse the document', () => {
    expect(mayHaveLostDigits({ a: [{ b: large }] }, undefined)).toBe(true);
    expect(mayHaveLostDigits({ a: [{ b: 9007199254740991 }], c: 0.1 }, undefined)).toBe(false);
    expect(mayHaveLostDigits({ a: large }, keep)).toBe(false);
  });

  test('are read as usual where the browser has no other way', () => {
    expect(parseExact('{"a": 1.0, "b": [2]}', undefined)).toEqual({ a: 1, b: [2] });
  });
});

test('values are the same wherever their members stand', () => {
  expect(isSame({ a: 1, b: { c: [1, { d: null }] } }, { b: { c: [1, { d: null }] }, a: 1 })).toBe(true);
  expect(isSame({ a: [1, 2] }, { a: [2, 1] })).toBe(false);
  expect(isSame({ a: 1 }, { a: 1, b: 1 })).toBe(false);
  expect(isSame({ a: 1 }, { a: '1' })).toBe(false);
});
