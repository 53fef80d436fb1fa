/** The three places where a request names the revision it builds on (completion 5). */
import type { RevId } from '../../documents/contract.ts';
import { isLocalId } from '../../documents/identifiers.ts';
import { isLocalRev, parseRevId } from '../../documents/revisions/revisions.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import type { Context } from '../request/context.ts';

/**
 * The revision from the body, the query's `rev` or `If-Match`. Fails with `bad_request` where two of them differ, or
 * where one can't be a revision of that document.
 */
export function revisionOf(context: Context, id: string, inBody: RevId | undefined): RevId | undefined {
  const inQuery = parseGiven(id, context.query.get('rev'));
  const inHeader = parseGiven(id, unquote(context.header('if-match')));
  const body = inBody === undefined ? undefined : ownKind(id, inBody);
  if (body !== undefined && inQuery !== undefined && body !== inQuery) {
    throw new DatabaseError('bad_request', 'Document rev from request body and query string have different values');
  }
  const explicit = body ?? inQuery;
  if (explicit !== undefined && inHeader !== undefined && explicit !== inHeader) {
    throw new DatabaseError('bad_request', 'Document rev and etag have different values');
  }
  return explicit ?? inHeader;
}

/** A text from query or header as a revision of the document; local documents have `0-<n>` (completion 5.3). */
function parseGiven(id: string, text: string | undefined): RevId | undefined {
  if (text === undefined) return undefined;
  return isLocalId(id) && isLocalRev(text) ? text : parseRevId(text);
}

/** A body without `_id` may have a local document's revision, though the address names another kind. */
export function ownKind(id: string, rev: RevId): RevId {
  return isLocalRev(rev) && !isLocalId(id) ? parseRevId(rev) : rev;
}

function unquote(tag: string | undefined): string | undefined {
  return tag?.replace(/^"+|"+$/g, '');
}
