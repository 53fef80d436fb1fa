/** What the interface has and a later version will answer: 501 with the reason, and nothing is changed. */
import { DatabaseError } from '../../errors/database-error.ts';
import { noAttachments } from '../documents/writing.ts';

export function notImplemented(what: string): () => never {
  return () => {
    throw new DatabaseError('not_implemented', `${what} not implemented yet.`);
  };
}

export function attachmentsNotImplemented(): never {
  throw noAttachments('If the path is meant as a document id, write its / as %2F.');
}
