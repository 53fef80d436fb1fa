/** The revision that a write builds on, named in the request body, the query or a header (docs/http/documents.md#revision-sources). */

import { DatabaseError } from '../../base/errors/database-error.ts';
import type { BadRev, RevId } from '../../database/documents/contract.ts';
import { isLocalId } from '../../database/documents/identifiers.ts';
import { invalidRev, isLocalRev, parseRevId, toRevision } from '../../database/documents/revisions/revisions.ts';
import type { Context } from '../request/context.ts';

/**
 * Returns the revision from the body, the query's `rev` or `If-Match`. Fails with `bad_request` if two of them differ, or
 * if one can't be a revision of that document.
 */
export function baseRevision(context: Context, id: string, inBody: RevId | undefined): RevId | undefined {
  const inQuery = parseGiven(id, context.query.get('rev'));
  const inHeader = parseGiven(id, unquote(context.header('if-match')));
  const body = inBody === undefined ? undefined : revOfOwnKind(id, inBody);
  if (body !== undefined && inQuery !== undefined && body !== inQuery) {
    throw new DatabaseError('bad_request', 'Document rev from request body and query string have different values');
  }
  const explicit = body ?? inQuery;
  if (explicit !== undefined && inHeader !== undefined && explicit !== inHeader) {
    throw new DatabaseError('bad_request', 'Document rev and etag have different values');
  }
  return explicit ?? inHeader;
}

/** Parses a text from the query or a header as a revision; local documents have `0-<n>` (docs/http/documents.md#local-documents). */
function parseGiven(id: string, text: string | undefined): RevId | undefined {
  if (text === undefined) return undefined;
  return isLocalId(id) && isLocalRev(text) ? text : parseRevId(text);
}

/**
 * Returns the revision of a body. Fails with `bad_request` if it is one of a local document and this document is not local: when a body
 * without `_id` is read, either kind passes.
 */
export function revOfOwnKind(id: string, rev: RevId): RevId {
  const foreign = foreignRev(id, { rev });
  if (foreign !== undefined) throw foreign.error;
  return rev;
}

/** Finds a local document's revision that is used in another document. */
export function foreignRev(id: string, { rev }: { readonly rev: RevId | undefined }): BadRev | undefined {
  if (rev === undefined || !isLocalRev(rev) || isLocalId(id)) return undefined;
  return { text: rev, error: invalidRev() };
}

/** Generations above this are reserved for edits: after the very last one, no one could change or delete a document. */
const MOST_REPLICATED = 2 ** 52;
const FEWER_DIGITS = 15;

/** Finds a replicated revision whose generation leaves no room for that many edits. */
export function farRev(rev: RevId | undefined): BadRev | undefined {
  if (rev === undefined || rev.indexOf('-') <= FEWER_DIGITS || toRevision(rev).generation <= MOST_REPLICATED)
    return undefined;
  const reason = `The revision's generation is greater than ${MOST_REPLICATED}, so that too few edits could follow it; it is not taken.`;
  return { text: rev, error: new DatabaseError('bad_request', reason) };
}

function unquote(tag: string | undefined): string | undefined {
  return tag?.replace(/^"+|"+$/g, '');
}
