/** `GET /{db}/_local/{id}` (docs/http/documents.md#local-documents). Writing and copying: see the handlers of documents. */

import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import type { DocId } from '../../database/documents/contract.ts';
import { writeDocument } from '../../database/documents/outgoing.ts';
import type { LocalDocument } from '../../database/store/contract.ts';
import type { Answer, Context } from '../request/context.ts';
import { matchesTag, revisionTag } from '../response/etags.ts';
import { jsonAnswer, notModified, withHeader } from '../response/responses.ts';
import { missing } from './requested-revision.ts';

/** How long it is, is not known before it was read as a whole: so much is kept free meanwhile. */
const READ_BYTES = 16_777_216;

/** There is one revision, so any other that is asked for is missing. */
export function getLocalDocument(context: Context, database: string, id: DocId): MaybePromise<Answer> {
  if (context.request.peer !== undefined) return getInLine(context, database, id);
  const local = context.services.registry.use(database, (open) => open.readLocal(id));
  return whenReady(local, (found) => answerLocal(context, id, found));
}

/** Many at once that are long would take any memory while they are read. */
async function getInLine(context: Context, database: string, id: DocId): Promise<Answer> {
  const release = await context.holdForPart(READ_BYTES, 0);
  try {
    return answerLocal(context, id, await context.services.registry.use(database, (open) => open.readLocal(id)));
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
