/** The changes of named documents: looked up one by one if that is less work than walking over all changes. */

import type { DocId } from '../documents/contract.ts';
import { toRevId } from '../documents/revisions/revisions.ts';
import type { ChangeRow, DocumentRecord, Snapshot } from '../store/contract.ts';

const MOST_LOOKUPS = 100;

/** Whether looking up that many documents is less work than walking over that many changes. */
export function areFew(ids: readonly DocId[], changes: number): boolean {
  return ids.length <= MOST_LOOKUPS && ids.length < changes;
}

/** Returns the changes in the order of their sequence numbers. */
export async function changesOf(
  ids: readonly DocId[],
  snapshot: Snapshot,
  { since, descending }: { readonly since: number; readonly descending: boolean },
): Promise<readonly ChangeRow[]> {
  const records = await snapshot.documents([...new Set(ids)]);
  const rows = records.filter((record) => record !== undefined).map(toChange);
  const after = rows.filter(({ seq }) => seq > since);
  return after.sort((one, other) => (descending ? other.seq - one.seq : one.seq - other.seq));
}

function toChange({ seq, id, leaves }: DocumentRecord): ChangeRow {
  const revs = leaves.map(({ generation, hash }) => toRevId(generation, hash));
  return { seq, id, deleted: leaves[0]?.deleted === true, revs };
}
