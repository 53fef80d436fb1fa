/** Documents as functions of design documents get them: complete, with ancestry and conflicts (docs/http/functions.md#show-functions). */

import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import { isLocalId, parseDocId } from '../../../database/documents/identifiers.ts';
import { md5 } from '../../../database/documents/md5.ts';
import { writeDocument } from '../../../database/documents/outgoing.ts';
import type { Database, Snapshot } from '../../../database/store/contract.ts';
import type { Context } from '../../request/context.ts';
import { documentText, type MetaFlags, metaOf, revOf } from '../../shown/document-rendering.ts';
import { CALLED_WITH, holdDocument } from '../../shown/long-document.ts';

/** The members that describe other revisions. */
const SHOWN: MetaFlags = { revs: true, revsInfo: false, conflicts: true, deletedConflicts: false, localSeq: false };

/** A document that was found, and may not have been read yet. */
interface FunctionDocument {
  /** Changes whenever anything that the function sees of the document changes. */
  readonly identity: string;
  /** JSON text. A long one counts as memory of the request from then on. */
  text(): MaybePromise<string>;
}

const NONE: FunctionDocument = { identity: '', text: () => 'null' };

/** Returns `null` if there is no such document, if it is deleted, or if the path names none (`id` is undefined). */
export async function findFunctionDocument(
  context: Context,
  database: Database,
  snapshot: Snapshot,
  id: string | undefined,
): Promise<FunctionDocument> {
  if (id === undefined) return NONE;
  const docId = parseDocId(id);
  if (isLocalId(docId)) {
    const local = await database.readLocal(docId);
    if (local === undefined) return NONE;
    await holdDocument(context, local.body.length, CALLED_WITH);
    // Revisions of local documents may repeat.
    const identity = JSON.stringify([local.id, local.rev, await md5(local.body)]);
    return { identity, text: () => writeDocument({ ...local, deleted: false }) };
  }
  const record = await snapshot.document(docId);
  const node = record?.leaves[0];
  if (record === undefined || node === undefined || node.deleted) return NONE;
  const members = metaOf(record, node, SHOWN);
  return {
    identity: JSON.stringify([docId, revOf(node), members]),
    text: async () => {
      await holdDocument(context, node.body?.length ?? 0, CALLED_WITH);
      const body = await snapshot.body(node);
      return body === undefined ? NONE.text() : documentText(record, node, body, members);
    },
  };
}
