/**
 * Changes that are found without a walk over all of them: the newest of each database, since feeds that waited all need the same
 * ones when they are woken, and those of a few named documents.
 */

import type { DocId } from '../documents/contract.ts';
import { toRevId } from '../documents/revisions/revisions.ts';
import type { ChangeRow, Database, DocumentRecord, Snapshot } from '../store/contract.ts';

/** The changes after `since` in a state of a database, which its sequence numbers identify. */
interface Place {
  readonly since: number;
  readonly updateSeq: number;
  readonly purgeSeq: number;
}

/** Keeps the latest rows that were read, as long as the database is open: no more rows than arrive in one batch. */
export class NewestChanges {
  readonly #newest = new WeakMap<Database, { readonly place: Place; readonly rows: readonly ChangeRow[] }>();

  /** Returns all changes at that place; undefined if they must be read. */
  get(database: Database, { since, updateSeq, purgeSeq }: Place): readonly ChangeRow[] | undefined {
    const newest = this.#newest.get(database);
    if (newest?.place.since !== since) return undefined;
    return newest.place.updateSeq === updateSeq && newest.place.purgeSeq === purgeSeq ? newest.rows : undefined;
  }

  /** Keeps the first rows that were read at that place, if they are all of its rows. */
  note(database: Database, place: Place, rows: readonly ChangeRow[]): void {
    if (rows.at(-1)?.seq === place.updateSeq) this.#newest.set(database, { place, rows });
  }
}

const MAX_LOOKUPS = 100;

/** Whether looking up that many documents is less work than walking over that many changes. */
export function areFew(ids: readonly DocId[], changes: number): boolean {
  return ids.length <= MAX_LOOKUPS && ids.length < changes;
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
