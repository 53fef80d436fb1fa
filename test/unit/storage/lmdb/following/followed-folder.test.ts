import { expect, test } from 'vitest';
import { mayPass } from '../../../../../src/storage/lmdb/following/followed-folder.ts';
import { storageCorrupt, storageMissing } from '../../../../../src/storage/storage-errors.ts';

const withCode = (code: unknown) => Object.assign(new Error('opening failed'), { code });

test('a follower opens a file again that its owner is just making, moving or writing', () => {
  // 22 is EINVAL, which LMDB reports for a data file that is not whole yet; 2 is ENOENT, for one that was just removed.
  for (const error of [withCode(22), withCode(2), withCode('ENOENT'), storageCorrupt('a', 'half a page')])
    expect(mayPass(error)).toBe(true);
});

test('no other failure passes', () => {
  for (const error of [withCode('EACCES'), withCode(-30790), storageMissing('a'), 22, undefined])
    expect(mayPass(error)).toBe(false);
});
