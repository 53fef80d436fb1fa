import { DatabaseError, storageDamage } from '../../base/errors/database-error.ts';
import type { PageFile, PageNumber } from '../page-store.ts';

/**
 * Returns why an expected page is missing: another owner took over the file and dropped it (then the request has to be
 * retried there), or the file is damaged.
 */
export async function missingPageError(file: PageFile, page: PageNumber): Promise<DatabaseError> {
  if (await file.isCurrent()) return storageDamage(`Page ${page} of ${file.name} is missing.`);
  return new DatabaseError('storage_fenced', `${file.name} was taken over by another owner. Send the request again.`);
}

/** Makes the error of whatever would change a file that another process owns. */
export function readOnlyError(file: string): DatabaseError {
  return new DatabaseError(
    'not_owner',
    `Another process owns ${file}, and only that one can do this. Send the request again.`,
  );
}

/** Makes the error for a page whose checksum is wrong. */
export function damagedPageError(file: string, page: PageNumber): DatabaseError {
  return storageDamage(`Page ${page} of ${file} is damaged: its checksum is wrong.`);
}

/** Makes the error for a document body that was read without its page, and whose checksum is wrong. */
export function damagedBodyError(file: string, page: PageNumber): DatabaseError {
  return storageDamage(`Page ${page} of ${file} is damaged: the checksum of a document in it is wrong.`);
}

/** Makes the error for a journal record whose checksum is wrong. No one may continue without it, or with those after it. */
export function damagedRecordError(file: string, record: number): DatabaseError {
  return new DatabaseError(
    'storage_corrupt',
    `Record ${record} of the journal of ${file} is damaged, and the last writes may be lost. Stop the server and run "settee verify --repair", which says what is lost and opens the database without it; or restore a backup.`,
  );
}
