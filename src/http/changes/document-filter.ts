/** Filters that look at the documents of changes. */
import type { ChangeFilter, SelectedChange } from '../../changes/contract.ts';
import type { ChangeRow, DocumentRecord, Snapshot, StoredNode } from '../../database/contract.ts';
import { must } from '../../shared/assert.ts';
import type { MaybePromise } from '../../shared/maybe-promise.ts';
import { Pace } from '../../shared/turn.ts';
import { byBodySize } from '../lists/body-batches.ts';
import { readAgain } from '../lists/read-again.ts';
import { documentText, type MetaFlags, metaOf, revOf } from '../shown/document-rendering.ts';

/** Whether each of the documents, JSON texts, passes. */
type PassAll = (documents: readonly string[]) => MaybePromise<readonly boolean[]>;

/** The members that tell of other revisions. */
const SHOWN: MetaFlags = { revs: true, revsInfo: false, conflicts: true, deletedConflicts: false, localSeq: false };
/** So many documents are looked at in one go at most: a call of a function holds the thread. */
const MOST_DOCUMENTS = 100;

/** A filter that looks at documents: the winner's, or with `allLeaves` that of each leaf, of which only those that pass are listed. */
export function documentFilter(passAll: PassAll, allLeaves: boolean): ChangeFilter {
  return {
    select: async (rows, snapshot) => {
      const leaves = await leavesOf(rows, snapshot, allLeaves);
      const passing = new Map<ChangeRow, Set<string>>();
      const pace = new Pace();
      for (const some of batches(leaves)) {
        const { found, texts } = await readTexts(some, snapshot, allLeaves);
        const flags = await passAll(texts);
        for (const [index, { row, node }] of found.entries()) {
          if (flags[index] !== true) continue;
          const revs = passing.get(row) ?? new Set();
          passing.set(row, revs.add(revOf(node)));
        }
        if (pace.isDue) await pace.rest();
      }
      return rows.flatMap((row) => selected(row, passing.get(row)));
    },
  };
}

interface Leaf {
  readonly row: ChangeRow;
  readonly record: DocumentRecord;
  readonly node: StoredNode;
}

function selected(row: ChangeRow, passing: ReadonlySet<string> | undefined): SelectedChange[] {
  return passing === undefined ? [] : [{ row, revs: row.revs.filter((rev) => passing.has(rev)) }];
}

/** A document that has changed since its row was read comes again, at its new place: it is passed over here. */
async function leavesOf(rows: readonly ChangeRow[], snapshot: Snapshot, allLeaves: boolean): Promise<Leaf[]> {
  const records = await snapshot.documents(rows.map(({ id }) => id));
  return rows.flatMap((row, index) => {
    const record = records[index];
    if (record === undefined || record.seq !== row.seq) return [];
    const nodes = allLeaves ? record.leaves : [must(record.leaves[0], 'a document has a leaf')];
    return nodes.map((node) => ({ row, record, node }));
  });
}

function* batches(leaves: readonly Leaf[]): Generator<readonly Leaf[], void, void> {
  for (let start = 0; start < leaves.length; start += MOST_DOCUMENTS) {
    yield* byBodySize(leaves.slice(start, start + MOST_DOCUMENTS), ({ node }) => node);
  }
}

/** The texts of leaves that were found before; or of those that their documents have by now, where a snapshot was taken back. */
function readTexts(
  leaves: readonly Leaf[],
  snapshot: Snapshot,
  allLeaves: boolean,
): Promise<{ readonly found: readonly Leaf[]; readonly texts: readonly string[] }> {
  return readAgain(async (isAgain) => {
    const rows = [...new Set(leaves.map(({ row }) => row))];
    const found = isAgain ? await leavesOf(rows, snapshot, allLeaves) : leaves;
    return { found, texts: await textsOf(found, snapshot) };
  });
}

/** With the ancestry of their revision and its conflicts. Of a body that is not kept only that is left. */
async function textsOf(leaves: readonly Leaf[], snapshot: Snapshot): Promise<readonly string[]> {
  const bodies = await snapshot.bodies(leaves.map(({ node }) => node));
  return leaves.map(({ record, node }, index) =>
    documentText(record, node, bodies[index] ?? '{}', metaOf(record, node, SHOWN)),
  );
}
