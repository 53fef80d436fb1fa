/** Documents in the bodies of requests. */
import type { IncomingDocument } from '../../documents/contract.ts';
import { type IncomingBulk, readBulkInSteps } from '../../documents/incoming/read-bulk.ts';
import { readDocumentInSteps } from '../../documents/incoming/read-document.ts';
import { type MaybePromise, whenReady } from '../../shared/maybe-promise.ts';
import { inTurns } from '../../shared/turn.ts';
import { readText } from '../request/bodies.ts';
import type { Context } from '../request/context.ts';

/** The document that the request's body is. */
export function readDocumentBody(context: Context): MaybePromise<IncomingDocument> {
  return whenReady(readText(context), (text) => inTurns(readDocumentInSteps(text)));
}

/** The documents of a `_bulk_docs` request. */
export function readBulkBody(context: Context): MaybePromise<IncomingBulk> {
  return whenReady(readText(context), (text) => inTurns(readBulkInSteps(text)));
}
