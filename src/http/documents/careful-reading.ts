/** Documents in requests that can't be read in one walk over their text. Browsers load this on first use. */

import type { IncomingDocument } from '../../documents/contract.ts';
import { readBulkInSteps as readAnyBulkInSteps } from '../../documents/incoming/fallback-bulk.ts';
import { readDocument as readAnyDocument } from '../../documents/incoming/fallback-parser.ts';
import type { IncomingBulk } from '../../documents/incoming/incoming-bulk.ts';
import type { Steps } from '../../shared/turn.ts';
import { noAttachments } from './writing.ts';

/** As that of `documents/`; `not_implemented` where attachments come with it. */
export function readDocument(text: string): IncomingDocument {
  const document = readAnyDocument(text);
  refuseAttachments(document);
  return document;
}

/** As that of `documents/`; `not_implemented` where attachments come with one. */
export function* readBulkInSteps(text: string): Steps<IncomingBulk> {
  const bulk = yield* readAnyBulkInSteps(text);
  bulk.documents.forEach(refuseAttachments);
  return bulk;
}

function refuseAttachments(document: IncomingDocument): void {
  if (document.hasAttachments) throw noAttachments('Send the document without its member _attachments.');
}
