import type { Handle } from '../../base/shared/message.ts';
import { isStream } from './bodies.ts';
import type { Context } from './context.ts';

/** One of several servers. */
export interface OtherServer {
  readonly name: string;
  /** Sends a request there, with one more hop. */
  readonly handle: Handle;
}

/** The other servers of a service that owns only some of the databases. */
export interface Sharing {
  /** This server's own name. */
  name(): string;
  /** Sends a request to the owner of the database, or of the list of databases, with one more hop. Undefined if that is this server. */
  ownerOf(database: string | undefined): Handle | undefined;
  /** Each of them answers for itself. */
  others(): readonly OtherServer[];
}

/** Asks another server for a resource with JSON, with the rights of the request's sender. Undefined if it doesn't have it, or doesn't answer. */
export async function askServer(context: Context, server: Handle, path: string): Promise<unknown> {
  const { basePath } = context.services;
  const { name, roles } = context.user;
  const headers = { accept: 'application/json' };
  const asked = { method: 'GET', url: `${basePath}${path}`, headers, body: null, user: { name, roles } };
  const { status, body } = await server(asked);
  if (isStream(body)) await body.cancel();
  if (status !== 200 || body === null || isStream(body)) return undefined;
  return JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body));
}
