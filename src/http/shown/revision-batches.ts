/** The revisions that a replicator requests, some at a time (docs/http/documents.md#open-revisions). */
import type { Snapshot } from '../../database/store/contract.ts';
import { isLong, LONG_BYTES, type ShownRevision, shownBytes, shownPieces, shownTexts } from './shown-revision.ts';

/** How many are read at once, if they are not large. */
const BATCH = 100;

/** A revision's text, in pieces if it is long; undefined if there is none to show. */
export type RevisionText = string | AsyncIterable<string> | undefined;

export interface ReadRevision<T> {
  readonly item: T;
  readonly text: RevisionText;
}

/**
 * Yields the texts of what `shownOf` returns for the items of all groups, in batches with little more text than may be held for a slow reader. A long
 * text has to be read before the next batch.
 */
export async function* readRevisions<G, T>(
  snapshot: Snapshot,
  groups: Iterable<G> | AsyncIterable<G>,
  itemsOf: (group: G) => Iterable<T>,
  shownOf: (item: T) => ShownRevision | undefined,
): AsyncGenerator<readonly ReadRevision<T>[], void, void> {
  let batch: { readonly item: T; readonly shown: ShownRevision | undefined }[] = [];
  let bytes = 0;
  for await (const group of groups) {
    for (const item of itemsOf(group)) {
      const shown = shownOf(item);
      if (shown !== undefined && isLong(shown)) {
        if (batch.length > 0) yield await textsOf(snapshot, batch);
        yield [{ item, text: shownPieces(snapshot, shown) }];
        batch = [];
        bytes = 0;
        continue;
      }
      batch.push({ item, shown });
      bytes += shown === undefined ? 0 : shownBytes(shown);
      if (batch.length < BATCH && bytes < LONG_BYTES) continue;
      yield await textsOf(snapshot, batch);
      batch = [];
      bytes = 0;
    }
  }
  if (batch.length > 0) yield await textsOf(snapshot, batch);
}

async function textsOf<T>(
  snapshot: Snapshot,
  batch: readonly { readonly item: T; readonly shown: ShownRevision | undefined }[],
): Promise<readonly ReadRevision<T>[]> {
  const all = batch.flatMap(({ shown }) => (shown === undefined ? [] : [shown]));
  const texts = await shownTexts(snapshot, all);
  let next = 0;
  return batch.map(({ item, shown }) => ({ item, text: shown === undefined ? undefined : texts[next++] }));
}
