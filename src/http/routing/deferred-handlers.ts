/**
 * What of the HTTP layer browsers load on first use, since few requests need it: all that functions of documents are for, selector
 * queries, replication, maintenance, the other lists, documents that are hard to read, and the weighing of types.
 */
import { readBulkInSteps, readDocument } from '../documents/careful-reading.ts';
import { copyDocument } from '../documents/copy-document.ts';
import { conflictsOf, metaOf } from '../documents/document-meta.ts';
import { postForm } from '../documents/post-form.ts';
import { answerOpenRevisions } from '../replication/open-revisions.ts';
import {
  answerAttachment,
  answerOfDatabase,
  answerOfDesign,
  answerOfServer,
  redirectToDesign,
} from './deferred-routes.ts';

export const functionHandlers = {
  answerAttachment,
  answerOfDatabase,
  answerOfDesign,
  answerOfServer,
  answerOpenRevisions,
  conflictsOf,
  copyDocument,
  metaOf,
  postForm,
  readBulkInSteps,
  readDocument,
  redirectToDesign,
};

export type FunctionHandlers = typeof functionHandlers;
