/** Reads of documents that begin anew where the snapshot was taken back for its age while they ran. */
import { isDatabaseError } from '../../../base/errors/database-error.ts';

/** What is gone from a snapshot that is some milliseconds old is not there at all. */
const MOST_ATTEMPTS = 3;

/**
 * What `read` gives. Documents may have been found minutes before their bodies are read, by a reader that is slow, and then what they led to
 * was replaced: with `isAgain` it has to find them anew, in the later state with which the snapshot goes on. Fails as `read` does; with
 * `cancelled` where that happens again and again.
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
