/**
 * What of the HTTP layer browsers load on first use, since few requests need it: all that functions of documents are for, selector
 * queries, replication, maintenance, the other lists, documents that are hard to read, and the weighing of types.
 */
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
  redirectToDesign,
};

export type FunctionHandlers = typeof functionHandlers;
