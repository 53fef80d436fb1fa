/** Databases that the service itself reads: they are made when somebody writes the first document into them (docs/http.md#database-names). */
import { isServerAdmin } from '../../auth/access/security.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import { REPLICATOR_DATABASE } from '../../system/system-databases.ts';
import type { Context } from '../request/context.ts';
import { isReserved } from './resources.ts';

/** Whether the request would write a document into such a database, which is not there. */
export function needsSystemDatabase({ method, services }: Context, database: string, path: readonly string[]): boolean {
  if (database !== REPLICATOR_DATABASE || services.registry.has(database)) return false;
  const [first = ''] = path;
  if (method === 'POST') return path.length === 0 || first === '_bulk_docs';
  return method === 'PUT' && path.length > 0 && (!isReserved(first) || first === '_design');
}

/** Makes it, for whoever may make databases. Fails with `unauthorized`. */
export async function createSystemDatabase(context: Context, database: string): Promise<void> {
  if (!isServerAdmin(context.user)) throw new DatabaseError('unauthorized', 'You are not a server admin.');
  await context.services.registry.createIfMissing(database);
}
