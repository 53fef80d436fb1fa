import { DatabaseError } from '../../base/errors/database-error.ts';
import type { Handle } from '../../base/shared/message.ts';
import { isStream } from './bodies.ts';
import type { Answer, AskedServers, Context } from './context.ts';
import type { Sharing } from './sharing.ts';

export function askServers({ name, ownerOf, others }: Sharing): AskedServers {
  return {
    name,
    otherNames: () => others().map((other) => other.name),
    tasks: (context) => tasksOf(context, others),
    info: async (context, database) => {
      const owner = ownerOf(database);
      return owner && askServer(context, owner, `/${encodeURIComponent(database)}`);
    },
    node: (context, asked, path) => {
      const other = others().find((server) => server.name === asked);
      return other && askNode(context, other.handle, path);
    },
  };
}

async function tasksOf(context: Context, others: Sharing['others']): Promise<readonly unknown[]> {
  const { hops = 0, user } = context.request;
  // Another server, which asks all itself.
  if (hops > 0 && user !== undefined) return [];
  const told = await Promise.all(others().map(({ handle }) => askServer(context, handle, '/_active_tasks')));
  return told.flatMap((tasks) => (Array.isArray(tasks) ? tasks : []));
}

/** Asks for a resource with JSON. Undefined if the server doesn't have it, or doesn't answer. Fails with `unauthorized`. */
async function askServer(context: Context, server: Handle, path: string): Promise<unknown> {
  const { basePath } = context.services;
  const { name, roles } = context.user;
  const headers = { accept: 'application/json' };
  const asked = { method: 'GET', url: `${basePath}${path}`, headers, body: null, user: { name, roles } };
  const { status, body } = await server(asked);
  if (isStream(body)) await body.cancel();
  // It may know of changes of rights that were not looked at here.
  if (status === 401 || status === 403)
    throw new DatabaseError('unauthorized', 'You are not authorized to access this db.');
  if (status !== 200 || body === null || isStream(body)) return undefined;
  return JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body));
}

async function askNode(context: Context, server: Handle, path: readonly (string | undefined)[]): Promise<Answer> {
  const { method, headers, body, peer } = context.request;
  const segments = path.flatMap((segment) => (segment === undefined ? [] : encodeURIComponent(segment)));
  const url = [context.services.basePath, '_node', '_local', ...segments].join('/');
  const { status, headers: told, body: said, errorCode } = await server({ method, url, headers, body, peer });
  return { status, headers: { ...told }, body: said, ...(errorCode !== undefined && { errorCode }) };
}
