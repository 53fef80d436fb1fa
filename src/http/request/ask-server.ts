import type { Handle } from '../../base/shared/message.ts';
import { isStream } from './bodies.ts';
import type { Context } from './context.ts';

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
