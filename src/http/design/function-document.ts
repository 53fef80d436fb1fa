/** Documents as functions of design documents get them: whole, with their ancestry and conflicts (docs/http.md#show-functions). */
import type { Database, Snapshot } from '../../database/contract.ts';
import { isLocalId, parseDocId } from '../../documents/identifiers.ts';
import { writeDocument } from '../../documents/outgoing.ts';
import { documentText, type MetaFlags, metaOf } from '../shown/document-rendering.ts';

/** The members that tell of other revisions. */
const SHOWN: MetaFlags = { revs: true, revsInfo: false, conflicts: true, deletedConflicts: false, localSeq: false };

const NONE = 'null';

/** JSON text; `null` where there is no such document, where it is deleted, and where the path names none: `id` undefined. */
export async function readFunctionDocument(
  database: Database,
  snapshot: Snapshot,
  id: string | undefined,
): Promise<string> {
  if (id === undefined) return NONE;
  const docId = parseDocId(id);
  if (isLocalId(docId)) {
    const local = await database.readLocal(docId);
    if (local === undefined) return NONE;
    return writeDocument({ ...local, deleted: false });
  }
  const record = await snapshot.document(docId);
  const node = record?.leaves[0];
  const body = node === undefined || node.deleted ? undefined : await snapshot.body(node);
  if (record === undefined || node === undefined || body === undefined) return NONE;
  return documentText(record, node, body, metaOf(record, node, SHOWN));
}
