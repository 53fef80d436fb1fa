import { describe, expect, test } from 'vitest';
import { checkDatabaseName, createFileName } from '../../../../src/database/registry/database-name.ts';

describe('database names (interface 2.2)', () => {
  test.each(['a', 'abc', 'a0', 'a_$()+/-', 'a/b+c(d)$', 'z-9/', '_users', '_replicator', 'a'.repeat(238)])(
    '%s is valid',
    (name) => {
      expect(() => checkDatabaseName(name)).not.toThrow();
    },
  );

  test.each(['', 'A', 'aB', '0a', '_a', '/a', '-', 'a b', 'a.b', 'a%2Fb', 'ä', 'a\n', 'a\u0000', '_usersx'])(
    '%j is invalid',
    (name) => {
      expect(() => checkDatabaseName(name)).toThrow(expect.objectContaining({ code: 'illegal_database_name' }));
    },
  );

  test('a name that is too long is refused with the limit', () => {
    const reason = 'A database name has at most 238 characters.';
    expect(() => checkDatabaseName('a'.repeat(239))).toThrow(
      expect.objectContaining({ code: 'illegal_database_name', reason }),
    );
  });

  test.each([
    ['abc', 'abc.1x'],
    ['a/b+c(d)$', 'a-b-c-d.1x'],
    ['_users', 'users.1x'],
    ['a'.repeat(200), `${'a'.repeat(40)}.1x`],
  ])('%s is stored in the file %s', (name, file) => {
    expect(createFileName(name, '1x')).toBe(file);
  });
});
