/** How much of documents' bodies is held at once while a list is sent. */
import type { StoredNode } from '../../database/contract.ts';

/** Bytes of bodies that are read at once, if there is more than one. */
const BODY_BYTES = 262_144;

/**
 * Groups neighbours so that no group's bodies are much larger than the memory that a slow reader may hold. `withContent`: a document with
 * attachments is a group of its own, since their content is read with it.
 */
export function* byBodySize<T>(
  items: readonly T[],
  nodeOf: (item: T) => StoredNode | undefined,
  withContent = false,
): Generator<readonly T[], void, void> {
  let start = 0;
  let bytes = 0;
  for (const [index, item] of items.entries()) {
    const body = nodeOf(item)?.body;
    const length = withContent && body?.attachments !== undefined ? BODY_BYTES : (body?.length ?? 0);
    if (index > start && bytes + length > BODY_BYTES) {
      yield items.slice(start, index);
      start = index;
      bytes = 0;
    }
    bytes += length;
  }
  if (start < items.length) yield start === 0 ? items : items.slice(start);
}
