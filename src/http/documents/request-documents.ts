/** Documents in the bodies of requests. All fail with `not_implemented` where attachments come with them. */
import type { IncomingDocument } from '../../documents/contract.ts';
import { type IncomingBulk, readBulkInSteps } from '../../documents/incoming/read-bulk.ts';
import { readDocument, readDocumentInSteps } from '../../documents/incoming/read-document.ts';
import { type MaybePromise, whenReady } from '../../shared/maybe-promise.ts';
import { inTurns, type Steps } from '../../shared/turn.ts';
import { isMultipart, readText } from '../request/bodies.ts';
import type { Context } from '../request/context.ts';
import { noAttachments } from './unsupported-attachments.ts';

/** The document that the request's body is. */
export function readDocumentBody(context: Context): MaybePromise<IncomingDocument> {
  if (isMultipart(context, 'related')) throw noAttachments('Send the document as application/json, without them.');
  return whenReady(readText(context), (text) => inTurns(parseDocumentInSteps(text)));
}

/** Fails as `readDocument` of `documents/`. */
export function parseDocument(text: string): IncomingDocument {
  const document = readDocument(text);
  refuseAttachments(document);
  return document;
}

function* parseDocumentInSteps(text: string): Steps<IncomingDocument> {
  const document = yield* readDocumentInSteps(text);
  refuseAttachments(document);
  return document;
}

/** The documents of a `_bulk_docs` request. */
export function readBulkBody(context: Context): MaybePromise<IncomingBulk> {
  return whenReady(readText(context), (text) => inTurns(parseBulkInSteps(text)));
}

function* parseBulkInSteps(text: string): Steps<IncomingBulk> {
  const bulk = yield* readBulkInSteps(text);
  bulk.documents.forEach(refuseAttachments);
  return bulk;
}

function refuseAttachments(document: IncomingDocument): void {
  if (document.hasAttachments) throw noAttachments('Send the document without its member _attachments.');
}
