/**
 * The documents that a view's rows are shown with (docs/http/views.md#included-documents): the one that the row's value names by `_id` or
 * `_rev`, else the one that emitted it.
 */

import { isObject, ownMember } from '../../../base/json/objects.ts';
import { must } from '../../../base/shared/assert.ts';
import type { DocId, RevId } from '../../../database/documents/contract.ts';
import { toDocId } from '../../../database/documents/identifiers.ts';
import { findNode } from '../../../database/documents/revisions/revision-tree.ts';
import { parseRevId, toRevision } from '../../../database/documents/revisions/revisions.ts';
import type { DocumentRecord, Snapshot, StoredNode } from '../../../database/store/contract.ts';
import type { ViewRow } from '../../../queries/views/contract.ts';
import { byBytes, readAgain } from '../../documents/lists/body-batches.ts';
import {
  contentFlags,
  MAX_ATTACHED_BYTES,
  type RowBatch,
  type RowOptions,
} from '../../documents/lists/document-list.ts';
import { CONFLICTS_ALONE } from '../../shown/document-rendering.ts';
import { isLong, type ShownRevision, shownBytes, shownPieces, shownTexts } from '../../shown/shown-revision.ts';

/** A row with what it is shown with; if that is missing, its document is `null`. */
interface DocumentedRow {
  readonly row: ViewRow;
  readonly shown: ShownRevision | undefined;
}

interface Target {
  readonly id: DocId | undefined;
  /** Undefined for the winner. */
  readonly rev: RevId | undefined;
}

const NOWHERE: Target = { id: undefined, rev: undefined };

/** The texts of the rows, in batches with little more document text than may be held for a slow reader. */
export async function* withDocuments(
  snapshot: Snapshot,
  rows: readonly ViewRow[],
  options: RowOptions,
): AsyncGenerator<RowBatch, void, void> {
  const show = { meta: options.conflicts ? CONFLICTS_ALONE : undefined, attachments: contentFlags(options) };
  for await (const found of findDocuments(snapshot, rows, show)) {
    for (const batch of byBytes(found, ({ shown }) => (shown === undefined ? 0 : shownBytes(shown)))) {
      const [first] = batch;
      if (batch.length === 1 && first?.shown !== undefined && isLong(first.shown)) {
        yield { pieces: rowPieces(first.row, shownPieces(snapshot, first.shown, MAX_ATTACHED_BYTES)) };
        continue;
      }
      const known = batch.map(({ row }) => row);
      yield await readAgain(async (isAgain) => {
        const some = isAgain ? await foundAnew(snapshot, known, show) : batch;
        return textsOf(snapshot, some);
      });
    }
  }
}

async function textsOf(snapshot: Snapshot, rows: readonly DocumentedRow[]): Promise<string[]> {
  const texts = await shownTexts(
    snapshot,
    rows.flatMap(({ shown }) => (shown === undefined ? [] : [shown])),
  );
  let next = 0;
  return rows.map(({ row, shown }) => documentedText(row, shown === undefined ? 'null' : (texts[next++] ?? 'null')));
}

async function* rowPieces(row: ViewRow, doc: AsyncIterable<string>): AsyncGenerator<string, void, void> {
  yield documentedText(row, '').slice(0, -1);
  yield* doc;
  yield '}';
}

function documentedText({ idText, keyText, valueText }: ViewRow, doc: string): string {
  return `{"id":${idText},"key":${keyText},"value":${valueText},"doc":${doc}}`;
}

type Show = Pick<ShownRevision, 'meta' | 'attachments'>;

async function* findDocuments(
  snapshot: Snapshot,
  rows: readonly ViewRow[],
  show: Show,
): AsyncGenerator<readonly DocumentedRow[], void, void> {
  const targets = rows.map(targetOf);
  let from = 0;
  for await (const records of snapshot.documentBatches(targets.map(({ id }) => id))) {
    const first = from;
    yield records.map((record, index) => ({
      row: must(rows[first + index]),
      shown: record && shownOf(record, targets[first + index]?.rev, show),
    }));
    from += records.length;
  }
}

async function foundAnew(snapshot: Snapshot, rows: readonly ViewRow[], show: Show): Promise<readonly DocumentedRow[]> {
  const found: DocumentedRow[] = [];
  for await (const some of findDocuments(snapshot, rows, show)) found.push(...some);
  return found;
}

/** Returns undefined if there is nothing to show. */
function shownOf(record: DocumentRecord, rev: RevId | undefined, show: Show): ShownRevision | undefined {
  const node = nodeOf(record, rev);
  return node?.body === undefined ? undefined : { record, node, ...show };
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
    // A value that is not a revision names no document.
    return NOWHERE;
  }
}
