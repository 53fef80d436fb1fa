/** Absolute addresses of resources, as the client sees the service, for `Location` (docs/http/answers.md#locations). */

import { addressListSetting } from '../../base/system/config.ts';
import { originOf } from '../request/address.ts';
import type { Answer, Context } from '../request/context.ts';
import { withHeader } from './responses.ts';

/**
 * What a reverse proxy says of the request as its client sent it: `X-Forwarded-Host`, `-Proto` and `-Ssl`, or as the settings name them. Any
 * client can send these headers, so they count only if the request comes from a proxy that the operator named
 * (docs/node.md#behind-a-proxy).
 */
function forwardedHost(context: Context): string | undefined {
  return forwarded(context, 'x_forwarded_host');
}

function forwardedScheme(context: Context): 'http' | 'https' | undefined {
  if (forwarded(context, 'x_forwarded_ssl') === 'on') return 'https';
  const scheme = forwarded(context, 'x_forwarded_proto')?.toLowerCase();
  return scheme === 'http' || scheme === 'https' ? scheme : undefined;
}

/** Several proxies make a list; the first entry is what the client requested. An empty entry counts as none. `setting`: that of the header's name. */
function forwarded(
  context: Context,
  setting: 'x_forwarded_host' | 'x_forwarded_proto' | 'x_forwarded_ssl',
): string | undefined {
  const { config } = context.services;
  if (!config.get('httpd', 'trusted_proxies')) return undefined;
  const name = config.get('httpd', setting) || setting.replaceAll('_', '-');
  const header = context.header(name.toLowerCase());
  if (header === undefined || !isFromTrustedProxy(context)) return undefined;
  return header.split(',', 1)[0]?.trim() || undefined;
}

function isFromTrustedProxy({ request: { peer }, services: { config } }: Context): boolean {
  return peer !== undefined && addressListSetting(config, 'httpd', 'trusted_proxies').includes(peer);
}

/** Characters of an address in a header. Many clients accept no more than 16 kB of headers altogether. */
const MAX_ADDRESS_LENGTH = 8_192;

/** A host name or an address, with an optional port (RFC 3986, 3.2.2), without anything that would be a path or a user. */
const AUTHORITY = /^(?:[\w.~-]{1,255}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i;

/**
 * What precedes our paths for the client, such as `https://example.org/db`: origin and base path. Without an origin it is
 * a path, which is a valid `Location` as well.
 */
export function ownBase(context: Context): string {
  return `${ownOrigin(context)}${context.services.basePath}`;
}

/** The origin by which the client knows the service. Empty if it is unknown. */
export function ownOrigin(context: Context): string {
  const host = ownHost(context);
  return host === undefined ? '' : `${ownScheme(context)}://${host}`;
}

/**
 * Host and port by which the client knows the service: what a trusted proxy says, else the request's own address if it
 * is absolute (RFC 9112, 3.2.2: `Host` does not count then), else `Host`. A value that can't be a host is ignored.
 */
export function ownHost(context: Context): string | undefined {
  const requested = originOf(context.request.url);
  const own = requested === undefined ? context.header('host') : authorityOf(requested);
  return [forwardedHost(context), own].find((host) => host !== undefined && AUTHORITY.test(host));
}

export function databaseLocation(context: Context, database: string): string {
  return `${ownBase(context)}/${encodeURIComponent(database)}`;
}

export function documentLocation(context: Context, database: string, id: string): string {
  return `${databaseLocation(context, database)}/${encodeDocId(id)}`;
}

export function attachmentLocation(context: Context, database: string, id: string, name: string): string {
  // Clients skip a path's empty segments, and remove `.` and `..`.
  const parts = name.split('/');
  const isFolded = parts.some((part) => part === '' || part === '.' || part === '..');
  const path = parts.map(encodeURIComponent).join(isFolded ? '%2F' : '/');
  return `${documentLocation(context, database, id)}/${path}`;
}

/** The slash of `_design/` and `_local/` stays unencoded. */
export function encodeDocId(id: string): string {
  if (id.startsWith('_design/')) return `_design/${encodeURIComponent(id.slice(8))}`;
  if (id.startsWith('_local/')) return `_local/${encodeURIComponent(id.slice(7))}`;
  return encodeURIComponent(id);
}

/** Adds `Location`, unless it would be too long. Percent-encodes what is not ASCII in it. */
export function withLocation(answer: Answer, address: string): Answer {
  const encoded = toAscii(address);
  return fitsHeader(encoded) ? withHeader(answer, 'location', encoded) : answer;
}

/** Whether an address is short enough for a header. */
export function fitsHeader(address: string): boolean {
  return address.length <= MAX_ADDRESS_LENGTH;
}

/** Returns the address with everything that is not ASCII percent-encoded. */
export function toAscii(address: string): string {
  return address.replace(/[^!-~]+/g, percentEncode);
}

function percentEncode(text: string): string {
  return [...new TextEncoder().encode(text)]
    .map((byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`)
    .join('');
}

/** The scheme by which the client knows the service. */
export function ownScheme(context: Context): string {
  const forwarded = forwardedScheme(context);
  if (forwarded !== undefined) return forwarded;
  if (context.request.scheme !== undefined) return context.request.scheme;
  const requested = originOf(context.request.url);
  return requested === undefined ? 'http' : requested.slice(0, requested.indexOf(':'));
}

function authorityOf(origin: string): string {
  return origin.slice(origin.indexOf('://') + 3);
}
