/** Documents as functions of design documents get them: whole, with the revisions of conflicts (docs/http.md#show-functions). */
import type { Database, Snapshot } from '../../database/contract.ts';
import { isLocalId, parseDocId } from '../../documents/identifiers.ts';
import { writeDocument } from '../../documents/outgoing.ts';
import { conflictsOf, documentText, revOf } from '../documents/document-rendering.ts';

interface FunctionDocument {
  /** JSON text; `null` where there is no such document, or where it is deleted. */
  readonly text: string;
  readonly rev: string | undefined;
}

const NONE: FunctionDocument = { text: 'null', rev: undefined };

/** `id` undefined: the path names none. */
export async function readFunctionDocument(
  database: Database,
  snapshot: Snapshot,
  id: string | undefined,
): Promise<FunctionDocument> {
  if (id === undefined) return NONE;
  const docId = parseDocId(id);
  if (isLocalId(docId)) {
    const local = await database.readLocal(docId);
    if (local === undefined) return NONE;
    return { text: writeDocument({ ...local, deleted: false }), rev: local.rev };
  }
  const record = await snapshot.document(docId);
  const node = record?.leaves[0];
  const body = node === undefined || node.deleted ? undefined : await snapshot.body(node);
  if (record === undefined || node === undefined || body === undefined) return NONE;
  return { text: documentText(record, node, body, conflictsOf(record)), rev: revOf(node) };
}
