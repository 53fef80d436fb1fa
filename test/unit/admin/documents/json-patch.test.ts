import { describe, expect, test } from 'vitest';
import {
  applyMerge,
  applyPatch,
  type Operation,
  problemOfPatch,
} from '../../../../src/admin/documents/bulk/json-patch.ts';
import type { JsonObject } from '../../../../src/admin/server/json.ts';

describe('a JSON Patch', () => {
  const cases: readonly (readonly [string, JsonObject, readonly Operation[], JsonObject])[] = [
    ['adds a member', { a: 1 }, [{ op: 'add', path: '/b', value: 2 }], { a: 1, b: 2 }],
    ['adds before an entry', { l: [1, 3] }, [{ op: 'add', path: '/l/1', value: 2 }], { l: [1, 2, 3] }],
    ['adds at the end', { l: [1] }, [{ op: 'add', path: '/l/-', value: 2 }], { l: [1, 2] }],
    ['removes a member', { a: 1, b: 2 }, [{ op: 'remove', path: '/a' }], { b: 2 }],
    ['removes an entry', { l: [1, 2, 3] }, [{ op: 'remove', path: '/l/1' }], { l: [1, 3] }],
    ['replaces inside of objects', { a: { b: 1 } }, [{ op: 'replace', path: '/a/b', value: null }], { a: { b: null } }],
    ['moves', { a: 1 }, [{ op: 'move', from: '/a', path: '/b' }], { b: 1 }],
    ['copies', { a: [1] }, [{ op: 'copy', from: '/a/0', path: '/b' }], { a: [1], b: 1 }],
    [
      'unescapes names',
      { 'a/b': 1, 'c~d': 2 },
      [
        { op: 'remove', path: '/a~1b' },
        { op: 'remove', path: '/c~0d' },
      ],
      {},
    ],
    [
      'passes a test of equal members in another order',
      { a: { x: 1, y: 2 } },
      [{ op: 'test', path: '/a', value: { y: 2, x: 1 } }],
      { a: { x: 1, y: 2 } },
    ],
  ];

  test.each(cases)('%s', (_, value, operations, expected) => {
    const copy = structuredClone(value);
    expect(applyPatch(value, operations)).toEqual(expected);
    expect(value).toEqual(copy);
  });

  const misfits: readonly (readonly [string, JsonObject, Operation, string])[] = [
    ['a test of another value', { a: 1 }, { op: 'test', path: '/a', value: 2 }, 'The value of /a is another one.'],
    ['the removal of what is not there', {}, { op: 'remove', path: '/a' }, 'There is no a to change.'],
    ['the replacement of what is not there', {}, { op: 'replace', path: '/a', value: 1 }, 'There is no a to change.'],
    ['a place beyond the end of a list', { l: [] }, { op: 'add', path: '/l/2', value: 1 }, 'The list has no place 2.'],
    ['a member inside of a number', { a: 1 }, { op: 'add', path: '/a/b', value: 1 }, 'There is no b to change.'],
    ['a name of the prototype', {}, { op: 'remove', path: '/toString' }, 'There is no toString to change.'],
  ];

  test.each(misfits)('does not fit: %s', (_, value, operation, reason) => {
    expect(() => applyPatch(value, [operation])).toThrow(reason);
  });

  test('is checked before it is used', () => {
    expect(problemOfPatch([{ op: 'add', path: '/a', value: 1 }])).toBe(undefined);
    expect(
      problemOfPatch([
        { op: 'add', path: '/a', value: 1 },
        { op: 'put', path: '/a' },
      ]),
    ).toContain('Operation 2');
    expect(problemOfPatch([{ op: 'add', path: 'a', value: 1 }])).toContain('needs a “path”');
    expect(problemOfPatch([{ op: 'add', path: '/a' }])).toContain('needs a “value”');
    expect(problemOfPatch([{ op: 'move', path: '/a' }])).toContain('needs a “from”');
    expect(problemOfPatch([{ op: 'move', from: '/a', path: '/a/b' }])).toContain('into itself');
    expect(problemOfPatch([1])).toBe('Operation 1 is not an object.');
  });
});

describe('a merge', () => {
  test('replaces members, removes those that are null, and merges objects', () => {
    const value = { title: 'a', author: { first: 'b', last: 'c' }, tags: ['x'], old: 1 };
    expect(applyMerge(value, { title: 'z', author: { last: null }, tags: ['y'], old: null, new: { n: 1 } })).toEqual({
      title: 'z',
      author: { first: 'b' },
      tags: ['y'],
      new: { n: 1 },
    });
  });

  test('makes an object of what is none', () => {
    expect(applyMerge({ a: 1 }, { a: { b: 1, c: null } })).toEqual({ a: { b: 1 } });
  });
});
