import type { NodeReader } from '../btree/contract.ts';
import type { DatabaseError } from '../errors/database-error.ts';
import type { PageFile } from '../storage/page-store.ts';
import { missingPageError } from './missing-page.ts';

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
  return {
    readNode(page) {
      const read = file.read(page, 'text');
      if (read instanceof Promise) return read.then((text) => text ?? fail(page));
      return read ?? fail(page);
    },
  };
}
