/** Writing single documents: PUT, POST to the database, DELETE (docs/http.md#writing-a-document). */
import type { DocId } from '../../documents/contract.ts';
import { isLocalId, parseDocId } from '../../documents/identifiers.ts';
import { type MaybePromise, whenReady } from '../../shared/maybe-promise.ts';
import { requireJsonType } from '../request/bodies.ts';
import type { Answer, Context } from '../request/context.ts';
import { withSnapshot } from '../request/snapshot-lease.ts';
import { baseRevision, revOfOwnKind } from './base-revision.ts';
import { readDocumentBody } from './request-documents.ts';
import { missing, nodeToRead } from './requested-revision.ts';
import { answerWrite, isNewEdit, replicatedWrite } from './single-write.ts';

/** The id in the address counts, whatever the body's `_id` says. */
export function putDocument(context: Context, database: string, id: DocId): MaybePromise<Answer> {
  return whenReady(readDocumentBody(context), (document) => {
    const rev = baseRevision(context, id, document.rev);
    if (!isNewEdit(context)) return answerWrite(context, database, replicatedWrite(id, { ...document, rev }), false);
    const { deleted, body, attachments: incoming } = document;
    return answerWrite(context, database, { id, rev, deleted, body, incoming }, true);
  });
}

/** `POST /{db}`: the id is the body's, or a new one. */
export async function postDocument(context: Context, database: string): Promise<Answer> {
  requireJsonType(context);
  const document = await readDocumentBody(context);
  const id = document.id ?? parseDocId(context.services.uuids.next());
  if (!isNewEdit(context)) return answerWrite(context, database, replicatedWrite(id, document), false);
  const { deleted, body, attachments: incoming } = document;
  const rev = document.rev === undefined ? undefined : revOfOwnKind(id, document.rev);
  return answerWrite(context, database, { id, rev, deleted, body, incoming }, true);
}

/** 404 where there is nothing to delete comes before 409. */
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
