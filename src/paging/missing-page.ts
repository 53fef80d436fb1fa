import { DatabaseError } from '../errors/database-error.ts';
import type { PageFile, PageNumber } from '../storage/page-store.ts';

/**
 * Why a page that should be there is not: another owner took the file over and dropped it (then the request has to be
 * tried again there), or the file is damaged.
 */
export async function missingPageError(file: PageFile, page: PageNumber): Promise<DatabaseError> {
  if (await file.isCurrent()) {
    return new DatabaseError(
      'storage_corrupt',
      `Page ${page} of ${file.name} is missing. Run a verification and restore a backup.`,
    );
  }
  return new DatabaseError('storage_fenced', `${file.name} was taken over by another owner. Send the request again.`);
}
