/** How much of documents' bodies is held at once while a list is sent. */
import type { StoredNode } from '../../database/contract.ts';
import { LONG_BYTES } from '../shown/shown-revision.ts';

/**
 * Groups neighbours so that no group's bodies are much larger than the memory that a slow reader may hold; what is larger is a group of its
 * own.
 */
export function byBodySize<T>(
  items: readonly T[],
  nodeOf: (item: T) => StoredNode | undefined,
): Generator<readonly T[], void, void> {
  return byBytes(items, (item) => nodeOf(item)?.body?.length ?? 0);
}

/** As `byBodySize`, by how many bytes an item takes. */
export function* byBytes<T>(items: readonly T[], bytesOf: (item: T) => number): Generator<readonly T[], void, void> {
  let start = 0;
  let bytes = 0;
  for (const [index, item] of items.entries()) {
    const length = bytesOf(item);
    if (index > start && bytes + length > LONG_BYTES) {
      yield items.slice(start, index);
      start = index;
      bytes = 0;
    }
    bytes += length;
  }
  if (start < items.length) yield start === 0 ? items : items.slice(start);
}
