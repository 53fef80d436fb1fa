/** Databases that the service itself reads: the first document written into one creates it (docs/http/databases.md#database-names). */
import { isServerAdmin } from '../../accounts/access/security.ts';
import { DatabaseError } from '../../base/errors/database-error.ts';
import { REPLICATOR_DATABASE } from '../../base/system/system-databases.ts';
import type { Answer, Context, Handler } from '../request/context.ts';
import { isReserved } from './resources.ts';

/** Whether the request would write a document into such a database, which does not exist yet. */
export function needsSystemDatabase({ method, services }: Context, database: string, path: readonly string[]): boolean {
  if (database !== REPLICATOR_DATABASE || services.registry.has(database)) return false;
  const [first = ''] = path;
  if (method === 'POST') return path.length === 0 || first === '_bulk_docs';
  return method === 'PUT' && path.length > 0 && (!isReserved(first) || first === '_design');
}

/**
 * Answers the request in such a database, if the user may create databases: the database exists from the first accepted document on, and not
 * at all if none is accepted. Fails with `unauthorized`.
 */
export function createByAnswering(context: Context, database: string, answer: Handler): Promise<Answer> {
  if (!isServerAdmin(context.user)) throw new DatabaseError('unauthorized', 'You are not a server admin.');
  const { services } = context;
  return services.registry.createByWriting(database, async (registry) => {
    context.services = { ...services, registry };
    try {
      return await answer(context);
    } finally {
      context.services = services;
    }
  });
}
