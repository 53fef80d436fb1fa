/** Retries reads of documents if their snapshot was taken back because of its age. */
import { isDatabaseError } from '../../../base/errors/database-error.ts';

/** If it is still missing from a snapshot a few milliseconds old, it does not exist. */
const MOST_ATTEMPTS = 3;

/**
 * Returns what `read` returns. A slow reader may read bodies minutes after their documents were found, when these have been
 * replaced: with `isAgain`, `read` has to find them again, in the later state with which the snapshot continues. Fails as `read` does; with
 * `cancelled` if that happens again and again.
 */
export async function readAgain<T>(read: (isAgain: boolean) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await read(attempt > 1);
    } catch (error) {
      if (attempt === MOST_ATTEMPTS || !isDatabaseError(error, 'cancelled')) throw error;
    }
  }
}
