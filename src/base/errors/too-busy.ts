import { DatabaseError } from './database-error.ts';

/** A temporary refusal: all requests together hold as much memory as they may. */
export function tooBusy(): DatabaseError {
  const reason =
    'Requests and responses already take all the memory that httpd/max_bytes_in_flight permits; nothing was changed. Send the request again later, or in smaller parts.';
  return new DatabaseError('too_busy', reason);
}

/** A temporary refusal: the request arrived slowly while others waited for memory. */
export function gaveWay(): DatabaseError {
  const reason =
    'The request arrived too slowly while others waited for memory (httpd/max_bytes_in_flight); nothing was changed. Send it again later, over a faster connection, or in smaller parts.';
  return new DatabaseError('too_busy', reason);
}
