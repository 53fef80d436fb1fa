/**
 * Document ids: any non-empty Unicode text. Those that begin with an underscore are reserved: `_design/…` for design
 * documents and `_local/…` for documents that are not replicated (docs/http.md#document-ids).
 */
import { DatabaseError } from '../errors/database-error.ts';
import { UNDERSCORE } from '../json/characters.ts';
import { hasLoneSurrogate } from '../json/portable-values.ts';
import { fitsUtf8 } from '../shared/utf8.ts';
import type { DocId } from './contract.ts';

const DESIGN_PREFIX = '_design/';
const LOCAL_PREFIX = '_local/';
/** Bytes of an id as UTF-8, at most (docs/http.md#document-ids). Ids are repeated in lists, indexes and addresses. */
const MAX_ID_BYTES = 8_192;

/**
 * Checks a document id. Whether an id's path has too many segments is for the reader of the path to say.
 * Fails with `bad_request`.
 */
export function parseDocId(value: unknown): DocId {
  if (typeof value !== 'string') throw new DatabaseError('bad_request', 'Document id must be a string');
  if (value === '') throw new DatabaseError('bad_request', 'Document id must not be empty');
  if (value.charCodeAt(0) === UNDERSCORE) checkReserved(value);
  if (hasLoneSurrogate(value)) throw new DatabaseError('bad_request', 'Document id must be valid UTF-8');
  if (!fitsUtf8(value, MAX_ID_BYTES)) {
    const reason = `Document id is longer than ${MAX_ID_BYTES} bytes. Save the document under a shorter id.`;
    throw new DatabaseError('bad_request', reason);
  }
  return value as DocId;
}

/** Where design documents lie in the order of ids: `_design/` and what follows it. */
export const DESIGN_RANGE = { start: DESIGN_PREFIX, end: '_design0', endInclusive: false } as const;

export function isDesignId(id: string): boolean {
  return id.startsWith(DESIGN_PREFIX);
}

export function isLocalId(id: string): boolean {
  return id.startsWith(LOCAL_PREFIX);
}

function checkReserved(id: string): void {
  if (id === '_local' || id === LOCAL_PREFIX) {
    throw new DatabaseError('bad_request', 'Invalid _local document id.');
  }
  if (!isLocalId(id) && (!isDesignId(id) || id === DESIGN_PREFIX)) {
    throw new DatabaseError('bad_request', 'Only reserved document ids may start with underscore.');
  }
}
