/**
 * What of the HTTP layer browsers load on first use, since few requests need it: all that functions of documents are for, selector
 * queries, replication, maintenance, the other lists, documents that are hard to read, and the weighing of types.
 */
import { readBulkInSteps, readDocument } from './careful-reading.ts';
import { conflictsOf, metaOf } from './document-meta.ts';
import { copyDocument } from './handlers/copy-document.ts';
import { answerOpenRevisions } from './handlers/open-revisions.ts';
import { postForm } from './handlers/post-form.ts';
import { inflate } from './inflate.ts';
import { answerJsonp } from './jsonp.ts';
import { jsonType } from './negotiation.ts';
import {
  answerAttachment,
  answerOfDatabase,
  answerOfDesign,
  answerOfServer,
  redirectToDesign,
} from './seldom-routes.ts';

export const functionHandlers = {
  answerAttachment,
  answerJsonp,
  answerOfDatabase,
  answerOfDesign,
  answerOfServer,
  answerOpenRevisions,
  conflictsOf,
  copyDocument,
  inflate,
  jsonType,
  metaOf,
  postForm,
  readBulkInSteps,
  readDocument,
  redirectToDesign,
};

export type FunctionHandlers = typeof functionHandlers;
