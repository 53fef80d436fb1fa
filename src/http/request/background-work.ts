import { isDatabaseError } from '../../base/errors/database-error.ts';
import type { Context } from './context.ts';

/**
 * Continues work whose request has been answered already, and calls `end` when it is done. It is no error if the database is deleted or closed
 * meanwhile; all other failures go to the log, except those that `isExpected` accepts.
 */
export function continueInBackground(
  { services }: Context,
  what: string,
  work: Promise<void>,
  { end, isExpected = () => false }: { end(): void; isExpected?(failure: unknown): boolean },
): void {
  void work
    .catch((failure: unknown) => {
      const isEnded = isDatabaseError(failure, 'storage_deleted') || isDatabaseError(failure, 'storage_closed');
      if (!isEnded && !isExpected(failure)) services.log.error(`${what} failed`, failure);
    })
    .finally(end);
}
