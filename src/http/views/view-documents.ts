/**
 * The documents that a view's rows are shown with (docs/http.md#included-documents): the one that the row's value names by `_id` or
 * `_rev`, else the one that emitted it.
 */

import type { DocumentRecord, Snapshot, StoredNode } from '../../database/contract.ts';
import type { DocId, RevId } from '../../documents/contract.ts';
import { findNode } from '../../documents/revisions/revision-tree.ts';
import { parseRevId, toRevision } from '../../documents/revisions/revisions.ts';
import { isObject, ownMember } from '../../json/objects.ts';
import type { ViewRow } from '../../views/contract.ts';
import { conflictsOf, documentText } from '../documents/document-rendering.ts';
import { shownBodies } from '../documents/inline-attachments.ts';
import { byBodySize } from '../lists/body-batches.ts';
import { contentFlags, type RowOptions } from '../lists/document-list.ts';
import { readAgain } from '../lists/read-again.ts';
import { toDocId } from '../request/parameter-values.ts';

/** A row with the revision that it is shown with; without one its document is `null`. */
interface DocumentedRow {
  readonly row: ViewRow;
  readonly record: DocumentRecord | undefined;
  readonly node: StoredNode | undefined;
}

interface RowWithDocument {
  readonly row: ViewRow;
  /** JSON text. */
  readonly doc: string;
}

interface Target {
  readonly id: DocId | undefined;
  /** Undefined for the winner. */
  readonly rev: RevId | undefined;
}

const NOWHERE: Target = { id: undefined, rev: undefined };

/** Batches with little more text of documents than a slow reader may hold. */
export async function* withDocuments(
  snapshot: Snapshot,
  rows: readonly ViewRow[],
  options: RowOptions,
): AsyncGenerator<readonly RowWithDocument[], void, void> {
  const flags = contentFlags(options);
  for (const batch of byBodySize(await findDocuments(snapshot, rows), ({ node }) => node, flags !== undefined)) {
    const known = batch.map(({ row }) => row);
    yield await readAgain(async (isAgain) => {
      const found = isAgain ? await findDocuments(snapshot, known) : batch;
      const nodes = found.flatMap(({ node }) => (node === undefined ? [] : [node]));
      const bodies = await shownBodies(snapshot, nodes, flags);
      let next = 0;
      return found.map(({ row, record, node }) => {
        const body = node === undefined ? undefined : bodies[next++];
        if (record === undefined || node === undefined || body === undefined) return { row, doc: 'null' };
        return { row, doc: documentText(record, node, body, options.conflicts ? conflictsOf(record) : undefined) };
      });
    });
  }
}

async function findDocuments(snapshot: Snapshot, rows: readonly ViewRow[]): Promise<DocumentedRow[]> {
  const targets = rows.map(targetOf);
  const found = await snapshot.documents(targets.flatMap(({ id }) => (id === undefined ? [] : [id])));
  let next = 0;
  return rows.map((row, index) => {
    const { id, rev } = targets[index] ?? NOWHERE;
    const record = id === undefined ? undefined : found[next++];
    return { row, record, node: record === undefined ? undefined : nodeOf(record, rev) };
  });
}

function nodeOf({ leaves }: DocumentRecord, rev: RevId | undefined): StoredNode | undefined {
  if (rev !== undefined) return findNode(leaves, toRevision(rev));
  const [winner] = leaves;
  return winner?.deleted === true ? undefined : winner;
}

function targetOf(row: ViewRow): Target {
  const { valueText } = row;
  if (!valueText.startsWith('{') || !(valueText.includes('"_id"') || valueText.includes('"_rev"'))) {
    return { id: row.id, rev: undefined };
  }
  const value: unknown = JSON.parse(valueText);
  if (!isObject(value)) return NOWHERE;
  const id = ownMember(value, '_id');
  const rev = ownMember(value, '_rev');
  try {
    return { id: id === undefined ? row.id : toDocId(id), rev: rev === undefined ? undefined : parseRevId(rev) };
  } catch {
    // A value that is no revision names no document.
    return NOWHERE;
  }
}
