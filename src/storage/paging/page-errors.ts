import { DatabaseError } from '../../base/errors/database-error.ts';
import type { PageFile, PageNumber } from '../page-store.ts';

/**
 * Why a page that should be there is not: another owner took the file over and dropped it (then the request has to be
 * tried again there), or the file is damaged.
 */
export async function missingPageError(file: PageFile, page: PageNumber): Promise<DatabaseError> {
  if (await file.isCurrent()) return corrupt(`Page ${page} of ${file.name} is missing.`);
  return new DatabaseError('storage_fenced', `${file.name} was taken over by another owner. Send the request again.`);
}

/** A page whose checksum is wrong. */
export function damagedPageError(file: string, page: PageNumber): DatabaseError {
  return corrupt(`Page ${page} of ${file} is damaged: its checksum is wrong.`);
}

/** A document body that was read without its page, and whose checksum is wrong. */
export function damagedBodyError(file: string, page: PageNumber): DatabaseError {
  return corrupt(`Page ${page} of ${file} is damaged: the checksum of a document in it is wrong.`);
}

/** A journal record whose checksum is wrong. Nobody may go on without it, or with those behind it. */
export function damagedRecordError(file: string, record: number): DatabaseError {
  return new DatabaseError(
    'storage_corrupt',
    `Record ${record} of the journal of ${file} is damaged, and the last writes may be lost. Stop the server and run "settee verify --repair", which says what is lost and opens the database without it; or restore a backup.`,
  );
}

function corrupt(finding: string): DatabaseError {
  return new DatabaseError('storage_corrupt', `${finding} Run "settee verify" and restore a backup.`);
}
