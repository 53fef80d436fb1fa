/** What a compaction removes from a document's by-id entry: see `database/store/upkeep/trimmer.ts`. */

import { type MaybePromise, whenReady } from '../../../base/shared/maybe-promise.ts';
import type { DocId } from '../../documents/contract.ts';
import { mapBodies } from '../../documents/revisions/body-changes.ts';
import { stem } from '../../documents/revisions/revision-tree.ts';
import { EMPTY_LOCATION, encodeLocation } from '../bodies/body-location.ts';
import type { StoredNode } from '../contract.ts';
import { decodeInTurns } from './entry.ts';

type Leaves = readonly StoredNode[];

const EMPTY_BODY_TEXT = `=${encodeLocation(EMPTY_LOCATION)},`;

/**
 * Returns the entry's leaves without empty bodies of replaced revisions, and without ancestors beyond the limit; undefined if it has neither.
 */
export function trimmedLeaves(id: DocId, value: string, limit: number): MaybePromise<Leaves | undefined> {
  const mayHaveEmpty = mayHaveEmptyAncestor(value);
  if (!mayHaveEmpty && !mayBeLong(value, limit)) return undefined;
  return whenReady(decodeInTurns(id, value), ({ leaves }) => trimmed(leaves, limit, mayHaveEmpty));
}

function trimmed(leaves: Leaves, limit: number, mayHaveEmpty: boolean): Leaves | undefined {
  const stemmed = stem(leaves, limit);
  const next = mayHaveEmpty ? withoutEmptyAncestors(stemmed) : stemmed;
  return next === leaves ? undefined : next;
}

function withoutEmptyAncestors(leaves: Leaves): Leaves {
  const kept = new Set(leaves);
  return mapBodies(leaves, (node) =>
    node.body?.page !== EMPTY_LOCATION.page || kept.has(node) ? node.body : undefined,
  );
}

/** Decides from the text, since most documents have none: usually only a leaf, whose body comes first, has an empty body. */
function mayHaveEmptyAncestor(value: string): boolean {
  const first = value.indexOf(EMPTY_BODY_TEXT);
  if (first < 0) return false;
  return first !== value.indexOf('=') || value.includes(EMPTY_BODY_TEXT, first + 1);
}

/** Whether a leaf's generation, which bounds its ancestors, is above the limit. With several leaves, true without a check. */
function mayBeLong(value: string, limit: number): boolean {
  const generation = Number.parseInt(value.slice(value.indexOf(' ') + 1, value.indexOf('-')), 10);
  return Number.isNaN(generation) || generation > limit;
}
