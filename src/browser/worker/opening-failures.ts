import { DatabaseError } from '../../base/errors/database-error.ts';

/**
 * Explains to the developer why no core can be opened. Settee's own errors say so themselves: those of the storage, and plain ones. For an error
 * of the browser this names the likeliest cause, since its message is as short as "The request was denied".
 */
export function explainOpeningFailure(failure: unknown): Error {
  if (failure instanceof DatabaseError || (failure instanceof Error && failure.constructor === Error)) return failure;
  const { name = '', message = String(failure) }: Partial<Error> = Object(failure);
  return new Error(`The database can't be opened (${message}). ${remedyFor(name)}`, { cause: failure });
}

function remedyFor(name: string): string {
  if (name === 'SecurityError' || name === 'NotAllowedError') {
    return 'The browser blocks the data of this site: allow the site to store data; a frame in a page of another site may need that as well';
  }
  return 'Try again; if that does not help, the console of the worker may tell more';
}
