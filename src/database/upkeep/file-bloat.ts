import type { PageFile } from '../../storage/page-store.ts';
import { liveBytes, type State } from '../state/state.ts';

/** A file of which less than about six tenths is live counts as bloated: well before it is twice as large as what it holds. */
const BLOATED = 1.7;
/** Below this size, in bytes, what a file could save is not worth any haste. */
const LEAST_BYTES = 8 * 2 ** 20;

/**
 * Whether a file that gives no space back by itself has grown far beyond what is live in it. Freed pages are room for later ones
 * there, so that its size is what was in use at the worst moment.
 */
export async function isBloated(file: PageFile, state: State): Promise<boolean> {
  if (file.compact === undefined) return false;
  const size = await file.size();
  return size > LEAST_BYTES && size > BLOATED * liveBytes(state);
}
