/**
 * Changes that are found without a walk over all of them: the newest of each database, since feeds that waited all need the same
 * ones when they are woken, and those of named documents, if they are few beside all changes.
 */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { sortInSteps } from '../../base/shared/sort-in-steps.ts';
import { runCooperatively, TimeSlice } from '../../base/shared/turn.ts';
import type { DocId } from '../documents/contract.ts';
import { toRevId } from '../documents/revisions/revisions.ts';
import type { ChangeRow, Database, DocumentRecord, Snapshot } from '../store/contract.ts';

/** The changes after `since` in a state of a database, which its sequence numbers identify. */
interface Stretch {
  readonly since: number;
  readonly updateSeq: number;
  readonly purgeSeq: number;
}

/** Keeps the latest rows that were read, as long as the database is open: no more rows than arrive in one batch. */
export class NewestChanges {
  readonly #newest = new WeakMap<Database, { readonly place: Stretch; readonly rows: readonly ChangeRow[] }>();

  /** Returns all changes at that place; undefined if they must be read. */
  get(database: Database, { since, updateSeq, purgeSeq }: Stretch): readonly ChangeRow[] | undefined {
    const newest = this.#newest.get(database);
    if (newest?.place.since !== since) return undefined;
    return newest.place.updateSeq === updateSeq && newest.place.purgeSeq === purgeSeq ? newest.rows : undefined;
  }

  /** Keeps the first rows that were read at that place, if they are all of its rows. */
  note(database: Database, place: Stretch, rows: readonly ChangeRow[]): void {
    if (rows.at(-1)?.seq === place.updateSeq) this.#newest.set(database, { place, rows });
  }
}

/** Up to this many documents are looked up once, and their rows kept; more are looked up a second time, in the order of their rows. */
const FEW_LOOKUPS = 100;
/** Looking up one of many documents twice takes about as long as walking over this many changes. */
const LOOKUP_STEPS = 4;

/** Whether looking up that many documents is less work than walking over that many changes. */
export function areFew(ids: readonly DocId[], changes: number): boolean {
  return ids.length * (ids.length <= FEW_LOOKUPS ? 1 : LOOKUP_STEPS) < changes;
}

interface Lookup {
  readonly since: number;
  readonly descending: boolean;
  /** The update sequence of the moment at which the reading began. Later changes come with the next one. */
  readonly updateSeq: number;
}

/** Yields the changes of these documents in the order of their sequence numbers, in batches. The ids have no repeats. */
export async function* changesOf(
  ids: readonly DocId[],
  snapshot: Snapshot,
  lookup: Lookup,
): AsyncGenerator<readonly ChangeRow[], void> {
  const places: Place[] = [];
  const kept: ChangeRow[] = [];
  const timeSlice = new TimeSlice();
  for await (const records of snapshot.documentBatches(ids)) {
    for (const record of records) {
      if (record === undefined || record.seq <= lookup.since || hasMoved(record, lookup)) continue;
      if (ids.length <= FEW_LOOKUPS) kept.push(toChange(record));
      else places.push({ id: record.id, seq: record.seq });
    }
    if (timeSlice.isDue) await timeSlice.rest();
  }
  const inOrder = (one: { readonly seq: number }, other: { readonly seq: number }) =>
    lookup.descending ? other.seq - one.seq : one.seq - other.seq;
  if (kept.length > 0) yield kept.sort(inOrder);
  if (places.length > 0) yield* rowsAt(await runCooperatively(sortInSteps(places, inOrder)), snapshot, lookup);
}

interface Place {
  readonly id: DocId;
  readonly seq: number;
}

async function* rowsAt(
  places: readonly Place[],
  snapshot: Snapshot,
  lookup: Lookup,
): AsyncGenerator<readonly ChangeRow[], void> {
  let at = 0;
  for await (const records of snapshot.documentBatches(idsOf(places))) {
    const rows: ChangeRow[] = [];
    for (const record of records) {
      const place = places[at++];
      if (record !== undefined && record.seq === place?.seq) rows.push(toChange(record));
      else if (record !== undefined) hasMoved(record, lookup);
    }
    if (rows.length > 0) yield rows;
  }
}

function* idsOf(places: readonly Place[]): Iterable<DocId> {
  for (const { id } of places) yield id;
}

/**
 * Whether the document has changed since the reading began: then the snapshot was taken back, and a list that ascends gets the change at its new place.
 * Fails with `cancelled` if the list descends, since it has passed that place.
 */
function hasMoved({ seq }: DocumentRecord, { descending, updateSeq }: Lookup): boolean {
  if (seq <= updateSeq) return false;
  if (!descending) return true;
  const reason =
    'Documents changed while their changes were listed from the newest to the oldest. Send the request again.';
  throw new DatabaseError('cancelled', reason);
}

function toChange({ seq, id, leaves }: DocumentRecord): ChangeRow {
  const revs = leaves.map(({ generation, hash }) => toRevId(generation, hash));
  return { seq, id, deleted: leaves[0]?.deleted === true, revs };
}
