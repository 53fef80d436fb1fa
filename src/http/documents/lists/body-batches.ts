/**
 * Reads the bodies of a list's documents while it is sent: a limited amount at once, and again if the snapshot was taken back
 * because of its age.
 */

import { isDatabaseError } from '../../../base/errors/database-error.ts';
import type { StoredNode } from '../../../database/store/contract.ts';

/**
 * About what is sent in one chunk. The bodies of a group, their rows and the text of these are held until the reader takes the next one. With
 * four times as much, hundreds of readers take twice the memory, and lists are no faster.
 */
const GROUP_BYTES = 65_536;

/** Groups adjacent items so that the bodies of a group are no larger than a chunk of the response. A larger item is a group of its own. */
export function byBodySize<T>(
  items: readonly T[],
  nodeOf: (item: T) => StoredNode | undefined,
): Generator<readonly T[], void, void> {
  return byBytes(items, (item) => nodeOf(item)?.body?.length ?? 0);
}

/** Like `byBodySize`, with the number of bytes that an item takes. */
export function* byBytes<T>(items: readonly T[], bytesOf: (item: T) => number): Generator<readonly T[], void, void> {
  let start = 0;
  let bytes = 0;
  for (const [index, item] of items.entries()) {
    const length = bytesOf(item);
    if (index > start && bytes + length > GROUP_BYTES) {
      yield items.slice(start, index);
      start = index;
      bytes = 0;
    }
    bytes += length;
  }
  if (start < items.length) yield start === 0 ? items : items.slice(start);
}

/** If it is still missing from a snapshot a few milliseconds old, it does not exist. */
const MAX_ATTEMPTS = 3;

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
      if (attempt === MAX_ATTEMPTS || !isDatabaseError(error, 'cancelled')) throw error;
    }
  }
}
