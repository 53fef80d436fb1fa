import { type DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { NodeReader } from '../btree/contract.ts';
import type { PageFile, PageNumber } from '../page-store.ts';
import { missingPageError } from './page-errors.ts';
import { readPieces } from './page-texts.ts';

/**
 * Reads tree nodes from a file. A missing page fails with `missingPageError`. `onDamage` gets the errors that
 * mean that the file is damaged, provided that the reader may expect the page: a dropped page is missing, too.
 */
export function createNodeReader(
  file: PageFile,
  onDamage: (error: DatabaseError) => void = () => undefined,
): NodeReader {
  const fail = (error: unknown): never => {
    if (isDatabaseError(error, 'storage_corrupt')) onDamage(error);
    throw error;
  };
  const failMissing = async (page: PageNumber): Promise<never> => fail(await missingPageError(file, page));
  const readPage = (page: PageNumber): MaybePromise<string> => {
    try {
      const read = file.read(page, 'text');
      if (read instanceof Promise) return read.then((text) => text ?? failMissing(page), fail);
      return read ?? failMissing(page);
    } catch (error) {
      return fail(error);
    }
  };
  return {
    readNode: (page, pages) => (pages === 1 ? readPage(page) : readPieces({ page, pages }, readPage)),
  };
}
