/** The failures of lists, in addition to those of all functions. */
import { DatabaseError } from '../../../base/errors/database-error.ts';
import { LIST_BYTES } from '../contract.ts';

const MEGABYTES = LIST_BYTES / 1024 / 1024;
const TOO_LARGE =
  `This list function can't wait for its rows, so it may read and send at most ${MEGABYTES} MB: call getRow() by its name in ` +
  'the list function itself, or ask for pages, with limit and startkey.';

export const listTooLarge = (): DatabaseError => new DatabaseError('too_large', TOO_LARGE);

export const listLost = (): DatabaseError =>
  new DatabaseError('os_process_error', 'The sandbox of this list was lost meanwhile; repeat the request.');
