/** `GET /{db}/_local/{id}` (docs/http/documents.md#local-documents). For writing and copying, see the handlers of documents. */

import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import type { DocId } from '../../database/documents/contract.ts';
import { writeDocument } from '../../database/documents/outgoing.ts';
import type { LocalDocument } from '../../database/store/contract.ts';
import type { Answer, Context } from '../request/context.ts';
import { matchesTag, revisionTag } from '../response/etags.ts';
import { jsonAnswer, notModified, withHeader } from '../response/responses.ts';
import { missing } from './requested-revision.ts';

/** Memory reserved during the read: the length is unknown until the whole document has been read. */
const READ_BYTES = 16_777_216;

/** Treats any other requested revision as missing: there is only one. */
export function getLocalDocument(context: Context, database: string, id: DocId): MaybePromise<Answer> {
  if (context.request.peer !== undefined) return getInLine(context, database, id);
  const local = context.useDatabase(database, (open) => open.readLocal(id));
  return whenReady(local, (found) => answerLocal(context, id, found));
}

/** Waits for memory: many long documents read at once could exhaust it. */
async function getInLine(context: Context, database: string, id: DocId): Promise<Answer> {
  const release = await context.holdForPart(READ_BYTES, 0);
  try {
    return answerLocal(context, id, await context.useDatabase(database, (open) => open.readLocal(id)));
  } finally {
    release();
  }
}

function answerLocal(context: Context, id: DocId, local: LocalDocument | undefined): Answer {
  const asked = context.query.get('rev');
  if (local === undefined || (asked !== undefined && asked !== local.rev)) throw missing();
  const tag = revisionTag(local.rev);
  if (matchesTag(context.header('if-none-match'), tag)) return notModified(tag);
  const text = writeDocument({ id, rev: local.rev, deleted: false, body: local.body });
  return withHeader(jsonAnswer(context, 200, text), 'etag', tag);
}
