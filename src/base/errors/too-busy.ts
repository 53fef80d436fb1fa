/** Refusals of work that would take more memory than all requests may have together; both are temporary. */
import { DatabaseError } from './database-error.ts';

/** The request waited for as long as it may. */
export function tooBusy(): DatabaseError {
  const reason =
    'The service has as many bytes of requests and answers under way as httpd/max_bytes_in_flight permits; nothing was changed. Send the request again later, or in smaller parts.';
  return new DatabaseError('too_busy', reason);
}

/** The request arrived slowly while others waited. */
export function gaveWay(): DatabaseError {
  const reason =
    'The request came too slowly while others waited for memory (httpd/max_bytes_in_flight), and gave way to them; nothing was changed. Send it again later, over a faster connection, or in smaller parts.';
  return new DatabaseError('too_busy', reason);
}
