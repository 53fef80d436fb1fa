import type { NodeReader } from '../btree/contract.ts';
import type { DatabaseError } from '../errors/database-error.ts';
import type { MaybePromise } from '../shared/maybe-promise.ts';
import type { PageFile, PageNumber } from '../storage/page-store.ts';
import { missingPageError } from './missing-page.ts';
import { readPieces } from './page-texts.ts';

/**
 * Reads tree nodes from a file. A page that is not there fails with `missingPageError`; `onMissing` gets that error too
 * where this owner should have found the page, which means that the file is damaged.
 */
export function createNodeReader(file: PageFile, onMissing?: (error: DatabaseError) => void): NodeReader {
  const fail = async (page: number): Promise<never> => {
    const error = await missingPageError(file, page);
    if (error.code === 'storage_corrupt') onMissing?.(error);
    throw error;
  };
  const readPage = (page: PageNumber): MaybePromise<string> => {
    const read = file.read(page, 'text');
    if (read instanceof Promise) return read.then((text) => text ?? fail(page));
    return read ?? fail(page);
  };
  return {
    readNode: (page, pages) => (pages === 1 ? readPage(page) : readPieces({ page, pages }, readPage)),
  };
}
