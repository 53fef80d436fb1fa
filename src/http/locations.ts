/**
 * Absolute addresses of what the service holds, as the client sees the service: `Location` headers and redirects
 * (interface.md 1.4; completion 1.12), and the `Destination` of a COPY read back from one (completion 5, 21.2).
 */

import type { DocId } from '../documents/contract.ts';
import { parseDocId } from '../documents/identifiers.ts';
import { DatabaseError } from '../errors/database-error.ts';
import type { Context } from './context.ts';
import { Query } from './query.ts';
import { isBelow, originOf, parseTarget } from './target.ts';

export interface Destination {
  readonly id: DocId;
  /** The target's revision that is to be overwritten. */
  readonly rev: string | undefined;
}

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
function ownOrigin(context: Context): string {
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

/**
 * Reads `Destination`: a document's id, percent-encoded, or its full address on this server, with the revision to
 * overwrite as `?rev=`. Fails with `bad_request`.
 */
export function parseDestination(context: Context, database: string): Destination {
  const header = context.header('destination');
  if (header === undefined || header === '') {
    throw new DatabaseError('bad_request', 'Destination header is mandatory for COPY.');
  }
  if (originOf(header) !== undefined) return destinationOfUrl(context, header, database);
  const question = header.indexOf('?');
  const path = question < 0 ? header : header.slice(0, question);
  const query = new Query(question < 0 ? '' : header.slice(question + 1));
  return { id: parseDocId(decodeDestination(path)), rev: query.get('rev') };
}

function destinationOfUrl(context: Context, url: string, database: string): Destination {
  const { basePath } = context.services;
  if (originOf(url)?.toLowerCase() !== ownOrigin(context).toLowerCase() || !isBelow(url, basePath)) {
    throw new DatabaseError('bad_request', 'Destination URL must be relative or point to this server.');
  }
  const { segments, search } = parseTarget(url, basePath);
  const [targetDatabase, ...id] = segments;
  if (targetDatabase !== database) {
    const reason = `Destination must be in the database "${database}"; to copy into another one, read and write.`;
    throw new DatabaseError('bad_request', reason);
  }
  if (id.length > (id[0] === '_design' || id[0] === '_local' ? 2 : 1)) {
    throw new DatabaseError('bad_request', 'Destination must name a document; write a / in its id as %2F.');
  }
  return { id: parseDocId(id.join('/')), rev: new Query(search).get('rev') };
}

function decodeDestination(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch (cause) {
    const reason = `Destination "${path}" is not valid percent-encoding; write a literal % as %25.`;
    throw new DatabaseError('bad_request', reason, { cause });
  }
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

/** Several proxies make a list; the first entry is what the client asked. */
function firstOf(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const comma = header.indexOf(',');
  return (comma < 0 ? header : header.slice(0, comma)).trim();
}
