/** Filters that look at the documents of changes. */

import { must } from '../../base/shared/assert.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import { TimeSlice } from '../../base/shared/turn.ts';
import type { ChangeFilter, SelectedChange } from '../../database/changes/contract.ts';
import type { ChangeRow, DocumentRecord, Snapshot, StoredNode } from '../../database/store/contract.ts';
import { byBytes, readAgain } from '../documents/lists/body-batches.ts';
import { documentText, flagsAmongLeaves, type MetaFlags, metaOf, revOf } from '../shown/document-rendering.ts';
import { type ShownRevision, shownBytes } from '../shown/shown-revision.ts';

/** Whether each of the documents (JSON texts) passes. */
type PassAll = (documents: readonly string[]) => MaybePromise<readonly boolean[]>;

/** The members that describe other revisions. */
const SHOWN: MetaFlags = { revs: true, revsInfo: false, conflicts: true, deletedConflicts: false, localSeq: false };
/** How many documents are looked at in one go at most: a function call blocks the thread. */
const MAX_DOCUMENTS = 100;

/** A filter that looks at documents: at the winner's or, with `allLeaves`, at that of each leaf, and then lists only the leaves that pass. */
export function documentFilter(passAll: PassAll, allLeaves: boolean): ChangeFilter {
  return {
    select: async (rows, snapshot) => {
      const passing = new Map<ChangeRow, Set<string>>();
      const timeSlice = new TimeSlice();
      for await (const some of leafBatches(rows, snapshot, allLeaves)) {
        const { found, texts } = await readTexts(some, snapshot, allLeaves);
        const flags = await passAll(texts);
        for (const [index, { row, node }] of found.entries()) {
          if (flags[index] !== true) continue;
          const revs = passing.get(row) ?? new Set();
          passing.set(row, revs.add(revOf(node)));
        }
        if (timeSlice.isDue) await timeSlice.rest();
      }
      const changes: SelectedChange[] = [];
      for (const row of rows) {
        const revs = passing.get(row);
        if (revs !== undefined) changes.push({ row, revs: row.revs.filter((rev) => revs.has(rev)) });
        if (timeSlice.isDue) await timeSlice.rest();
      }
      return changes;
    },
  };
}

interface Leaf extends ShownRevision {
  readonly row: ChangeRow;
  readonly meta: MetaFlags;
}

/** Yields the leaves to be looked at, only as many at a time as their texts may take. Reads a record once for all of its leaves. */
async function* leafBatches(
  rows: readonly ChangeRow[],
  snapshot: Snapshot,
  allLeaves: boolean,
): AsyncGenerator<readonly Leaf[], void, void> {
  let from = 0;
  for await (const records of snapshot.documentBatches(rows.map(({ id }) => id))) {
    let batch: Leaf[] = [];
    for (const leaf of leavesOf(rows.slice(from, from + records.length), records, allLeaves)) {
      if (batch.push(leaf) < MAX_DOCUMENTS) continue;
      yield* byBytes(batch, shownBytes);
      batch = [];
    }
    yield* byBytes(batch, shownBytes);
    from += records.length;
  }
}

/** Skips a document that has changed since its row was read: it comes again, at its new place. */
function* leavesOf(
  rows: readonly ChangeRow[],
  records: readonly (DocumentRecord | undefined)[],
  allLeaves: boolean,
): Generator<Leaf, void, void> {
  for (const [index, row] of rows.entries()) {
    const record = records[index];
    if (record === undefined || record.seq !== row.seq) continue;
    if (allLeaves) for (const node of record.leaves) yield leafOf(row, record, node);
    else yield leafOf(row, record, must(record.leaves[0], 'a document has a leaf'));
  }
}

/** A leaf with the ancestry of its revision; the winner also with its conflicts. */
function leafOf(row: ChangeRow, record: DocumentRecord, node: StoredNode): Leaf {
  return { row, record, node, meta: flagsAmongLeaves(record, node, SHOWN) };
}

/** Returns the texts of leaves found before. If the snapshot was taken back meanwhile, finds those leaves again first. */
function readTexts(
  leaves: readonly Leaf[],
  snapshot: Snapshot,
  allLeaves: boolean,
): Promise<{ readonly found: readonly Leaf[]; readonly texts: readonly string[] }> {
  return readAgain(async (isAgain) => {
    const found = isAgain ? await foundAgain(leaves, snapshot, allLeaves) : leaves;
    return { found, texts: await textsOf(found, snapshot) };
  });
}

/** Returns the leaves that their documents still have, with their places in the later state. */
async function foundAgain(leaves: readonly Leaf[], snapshot: Snapshot, allLeaves: boolean): Promise<readonly Leaf[]> {
  const rows = [...new Set(leaves.map(({ row }) => row))];
  const asked = new Set(leaves.map(({ record, node }) => nameOf(record, node)));
  const again: Leaf[] = [];
  for await (const batch of leafBatches(rows, snapshot, allLeaves)) {
    again.push(...batch.filter(({ record, node }) => asked.has(nameOf(record, node))));
  }
  return again;
}

function nameOf({ id }: DocumentRecord, node: StoredNode): string {
  return `${revOf(node)} ${id}`;
}

/** Returns the texts; for a body that is not kept, only the other members. */
async function textsOf(leaves: readonly Leaf[], snapshot: Snapshot): Promise<readonly string[]> {
  const bodies = await snapshot.bodies(leaves.map(({ node }) => node));
  return leaves.map(({ record, node, meta }, index) =>
    documentText(record, node, bodies[index] ?? '{}', metaOf(record, node, meta)),
  );
}
