/** What the interface has and a later version will answer: 501 with the reason, and nothing is changed. */
import { DatabaseError } from '../../errors/database-error.ts';

export function notImplemented(what: string): () => never {
  return () => {
    throw new DatabaseError('not_implemented', `${what} not implemented yet.`);
  };
}
