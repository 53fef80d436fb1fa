import { describe, expect, test } from 'vitest';
import { toDatabaseError } from '../../../../src/storage/lmdb/lmdb-errors.ts';
import { folder, useStoreFolder } from './stores.ts';

useStoreFolder();

describe('errors of LMDB and the system', () => {
  test.each(['MDB_PAGE_NOTFOUND: Requested page not found', 'MDB_INCOMPATIBLE: Operation and DB incompatible'])(
    '"%s" is reported as storage_corrupt, with a code or without',
    async (message) => {
      const named = await toDatabaseError(new Error(message), 'file', 'copying it', folder);
      expect(named).toMatchObject({
        code: 'storage_corrupt',
        reason: expect.stringContaining('restore it from a backup'),
      });
    },
  );

  const failure = (code: string | number): Error => Object.assign(new Error('it broke'), { code });

  test.each([
    { code: 'ENOSPC', expected: 'storage_full' },
    { code: 28, expected: 'storage_full' },
    { code: 'EDQUOT', expected: 'storage_full' },
    { code: -30792, expected: 'storage_full' },
    { code: -30796, expected: 'storage_corrupt' },
    { code: 5, expected: 'storage_failed' },
    { code: 'EACCES', expected: 'storage_failed' },
  ] as const)('$code is reported as $expected, also as the reason of a failed commit', async ({ code, expected }) => {
    const commitError = Promise.reject(failure(code));
    commitError.catch(() => undefined);
    for (const error of [failure(code), Object.assign(new Error('Commit failed'), { commitError })]) {
      const named = await toDatabaseError(error, 'file', 'a commit', folder);
      expect(named.code).toBe(expected);
      expect(named.cause).toMatchObject({ code });
    }
  });
});
