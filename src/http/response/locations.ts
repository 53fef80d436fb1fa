/** Absolute addresses of what the service holds, as the client sees the service, for `Location` (docs/http.md#locations). */

import { originOf } from '../address/target.ts';
import type { Context } from '../request/context.ts';

/**
 * What the client has before our paths, such as `https://example.org/db`: origin and base path. Without an origin it is
 * a path, which is a valid `Location` as well.
 */
export function ownBase(context: Context): string {
  return `${ownOrigin(context)}${context.services.basePath}`;
}

/**
 * The origin by which the client knows the service: what a reverse proxy says, else the request's own address where it
 * is absolute (RFC 9112, 3.2.2: `Host` does not count then), else `Host`. Empty where nobody says.
 */
export function ownOrigin(context: Context): string {
  const requested = originOf(context.request.url);
  const host = firstOf(context.header('x-forwarded-host')) ?? authorityOf(requested) ?? context.header('host');
  return host === undefined ? '' : `${ownScheme(context, requested)}://${host}`;
}

export function databaseLocation(context: Context, database: string): string {
  return `${ownBase(context)}/${encodeURIComponent(database)}`;
}

export function documentLocation(context: Context, database: string, id: string): string {
  return `${databaseLocation(context, database)}/${encodeDocId(id)}`;
}

/** The slash of `_design/` and `_local/` stays plain. */
export function encodeDocId(id: string): string {
  if (id.startsWith('_design/')) return `_design/${encodeURIComponent(id.slice(8))}`;
  if (id.startsWith('_local/')) return `_local/${encodeURIComponent(id.slice(7))}`;
  return encodeURIComponent(id);
}

function ownScheme(context: Context, requested: string | undefined): string {
  if (context.header('x-forwarded-ssl') === 'on') return 'https';
  const forwarded = firstOf(context.header('x-forwarded-proto'));
  if (forwarded !== undefined) return forwarded;
  return requested === undefined ? 'http' : requested.slice(0, requested.indexOf(':'));
}

function authorityOf(origin: string | undefined): string | undefined {
  return origin?.slice(origin.indexOf('://') + 3);
}

/** Several proxies make a list; the first entry is what the client asked. An empty one is none. */
function firstOf(header: string | undefined): string | undefined {
  return header?.split(',', 1)[0]?.trim() || undefined;
}
