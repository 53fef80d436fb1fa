/** Writing single documents: PUT, POST to the database, DELETE (docs/http/documents.md#writing-a-document). */

import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import type { DocId, IncomingDocument } from '../../database/documents/contract.ts';
import { isLocalId, parseDocId } from '../../database/documents/identifiers.ts';
import { isMultipart, requireJsonType } from '../request/bodies.ts';
import type { Answer, Context } from '../request/context.ts';
import { withSnapshot } from '../request/snapshot-lease.ts';
import { writeOptions } from '../request/write-options.ts';
import type { IncomingWrite } from './attached-writes.ts';
import { baseRevision, revOfOwnKind } from './base-revision.ts';
import { receiveRelated } from './related-request.ts';
import { readDocumentBody } from './request-documents.ts';
import { missing, nodeToRead } from './requested-revision.ts';
import { answerWrite, isNewEdit, replicatedWrite, writeOne, writtenAnswer } from './single-write.ts';

/** Uses the id in the address, regardless of the body's `_id`. */
export function putDocument(context: Context, database: string, id: DocId): MaybePromise<Answer> {
  if (isMultipart(context, 'related')) return putRelated(context, database, id);
  return whenReady(readDocumentBody(context), (document) => {
    const newEdits = isNewEdit(context);
    return answerWrite(context, database, writeOf(context, id, document, newEdits), newEdits);
  });
}

function writeOf(context: Context, id: DocId, document: IncomingDocument, newEdits: boolean): IncomingWrite {
  const rev = baseRevision(context, id, document.rev);
  if (!newEdits) return replicatedWrite(id, { ...document, rev });
  const { deleted, body, attachments: incoming } = document;
  return { id, rev, deleted, body, incoming };
}

/** Writes a document that is followed by its attachments. */
function putRelated(context: Context, database: string, id: DocId): MaybePromise<Answer> {
  return context.services.registry.use(database, async (open) => {
    const { document, followed, discard } = await receiveRelated(context, open);
    try {
      const newEdits = isNewEdit(context);
      const write = { ...writeOf(context, id, document, newEdits), followed };
      return writtenAnswer(context, database, await writeOne(context, open, write, writeOptions(context, newEdits)));
    } finally {
      discard();
    }
  });
}

/** `POST /{db}`: the id is that of the body, or a new one. */
export async function postDocument(context: Context, database: string): Promise<Answer> {
  requireJsonType(context);
  const document = await readDocumentBody(context);
  const id = document.id ?? parseDocId(context.services.uuids.next());
  if (!isNewEdit(context)) return answerWrite(context, database, replicatedWrite(id, document), false);
  const { deleted, body, attachments: incoming } = document;
  const rev = document.rev === undefined ? undefined : revOfOwnKind(id, document.rev);
  return answerWrite(context, database, { id, rev, deleted, body, incoming }, true);
}

/** Answers 404 if there is nothing to delete, before it checks for 409. */
export async function deleteDocument(context: Context, database: string, id: DocId): Promise<Answer> {
  const rev = baseRevision(context, id, undefined);
  await withSnapshot(context, database, async (snapshot, open) => {
    if (isLocalId(id)) {
      if ((await open.readLocal(id)) === undefined) throw missing();
    } else if (nodeToRead(await snapshot.document(id), undefined) === undefined) {
      throw missing();
    }
  });
  return answerWrite(context, database, { id, rev, deleted: true, body: '{}' }, true);
}
