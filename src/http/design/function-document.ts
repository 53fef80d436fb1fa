/** Documents as functions of design documents get them: whole, with their ancestry and conflicts (docs/http.md#show-functions). */
import type { Database, Snapshot } from '../../database/contract.ts';
import { isLocalId, parseDocId } from '../../documents/identifiers.ts';
import { writeDocument } from '../../documents/outgoing.ts';
import { documentText, type MetaFlags, metaOf, revOf } from '../documents/document-rendering.ts';

interface FunctionDocument {
  /** JSON text; `null` where there is no such document, or where it is deleted. */
  readonly text: string;
  readonly rev: string | undefined;
}

/** The members that tell of other revisions. */
const SHOWN: MetaFlags = { revs: true, revsInfo: false, conflicts: true, deletedConflicts: false, localSeq: false };

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
  return { text: documentText(record, node, body, metaOf(record, node, SHOWN)), rev: revOf(node) };
}
