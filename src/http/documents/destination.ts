/** The destination of a COPY: a document's id, or its address as in `Location` (docs/http/documents.md#copying-a-document). */

import { DatabaseError } from '../../base/errors/database-error.ts';
import type { DocId } from '../../database/documents/contract.ts';
import { parseDocId } from '../../database/documents/identifiers.ts';
import { isBelow, originOf, parseTarget } from '../request/address/target.ts';
import type { Context } from '../request/context.ts';
import { Query } from '../request/query.ts';
import { ownOrigin } from '../response/locations.ts';

interface Destination {
  /** The database that a full address names; undefined for the source's database. */
  readonly database: string | undefined;
  readonly id: DocId;
  /** The target's revision to overwrite. */
  readonly rev: string | undefined;
}

/**
 * Reads `Destination`: a document's id, percent-encoded, or its full address on this server, with the revision to
 * overwrite as `?rev=`. Fails with `bad_request`.
 */
export function parseDestination(context: Context): Destination {
  const header = withUtf8(context.header('destination') ?? '');
  if (header === '') throw new DatabaseError('bad_request', 'Destination header is mandatory for COPY.');
  if (originOf(header) !== undefined) return destinationOfUrl(context, header);
  const question = header.indexOf('?');
  const path = question < 0 ? header : header.slice(0, question);
  const query = new Query(question < 0 ? '' : header.slice(question + 1));
  return { database: undefined, id: parseDocId(decodeDestination(path)), rev: query.get('rev') };
}

function destinationOfUrl(context: Context, url: string): Destination {
  const { basePath } = context.services;
  const isOwn = comparable(originOf(url)) === comparable(ownOrigin(context));
  if (!isOwn || !isBelow(url, basePath)) throw new DatabaseError('bad_request', 'Destination URL must be relative.');
  const { segments, search } = parseTarget(url, basePath);
  const [database, ...id] = segments;
  if (id.length === 0 || id.length > (id[0] === '_design' || id[0] === '_local' ? 2 : 1)) {
    throw new DatabaseError('bad_request', 'Destination must name a document; write a / in its id as %2F.');
  }
  return { database, id: parseDocId(id.join('/')), rev: new Query(search).get('rev') };
}

/** Omits the scheme's default port. */
function comparable(origin: string | undefined): string | undefined {
  return origin?.toLowerCase().replace(/^(http:.*):80$|^(https:.*):443$/, '$1$2');
}

/** Decodes raw bytes as UTF-8 if they are valid: hosts return each byte of a header as one character, and not all clients encode it. */
function withUtf8(header: string): string {
  return header.replace(/[\x80-\xff]+/g, (shown) => {
    const bytes = Uint8Array.from(shown, (byte) => byte.charCodeAt(0));
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    } catch {
      return shown;
    }
  });
}

function decodeDestination(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch (cause) {
    const reason = `Destination "${path}" is not valid percent-encoding; write a literal % as %25.`;
    throw new DatabaseError('bad_request', reason, { cause });
  }
}
