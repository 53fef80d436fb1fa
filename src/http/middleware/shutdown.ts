/** Refuses new requests while the service closes, except those that it makes itself to finish its work. */

import { DatabaseError } from '../../base/errors/database-error.ts';
import type { Handler } from '../request/context.ts';

export function refuseWhenClosing(isClosing: () => boolean, next: Handler): Handler {
  return (context) => {
    if (isClosing() && context.request.user === undefined) {
      throw new DatabaseError('shutting_down', 'The service is shutting down; try again when it is back.');
    }
    return next(context);
  };
}
