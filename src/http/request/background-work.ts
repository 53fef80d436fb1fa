import { isDatabaseError } from '../../base/errors/database-error.ts';
import type { Context } from './context.ts';

/**
 * Goes on with work whose request is answered already, and calls `end` when it is over. That the database is deleted or closed
 * meanwhile is nothing that went wrong; all other failures go to the log, but for those that `isExpected` knows.
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
