/**
 * Document ids: any non-empty Unicode text. Those that begin with an underscore are reserved: `_design/…` for design
 * documents and `_local/…` for documents that are not replicated (docs/http/documents.md#document-ids).
 */
import { DatabaseError } from '../../base/errors/database-error.ts';
import { UNDERSCORE } from '../../base/json/characters.ts';
import { hasLoneSurrogate } from '../../base/json/portable-values.ts';
import { fitsUtf8 } from '../../base/shared/utf8.ts';
import type { DocId } from './contract.ts';

const DESIGN_PREFIX = '_design/';
const LOCAL_PREFIX = '_local/';
/** Maximum bytes of an id as UTF-8 (docs/http/documents.md#document-ids). Ids are repeated in lists, indexes and URLs. */
const MAX_ID_BYTES = 8_192;

/**
 * Checks a document id. The reader of the path checks whether an id's path has too many segments.
 * Fails with `bad_request`.
 */
export function parseDocId(value: unknown): DocId {
  const fault = faultOf(value);
  if (fault !== undefined) throw new DatabaseError('bad_request', fault);
  return value as DocId;
}

/** Returns the value as an id; undefined if it is not valid. Lists name thousands of ids: creating an error takes a hundred times as long. */
export function toDocId(value: unknown): DocId | undefined {
  return faultOf(value) === undefined ? (value as DocId) : undefined;
}

/** Returns the reason why no document can have that id. */
function faultOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return 'Document id must be a string';
  if (value === '') return 'Document id must not be empty';
  const reserved = value.charCodeAt(0) === UNDERSCORE ? reservedFault(value) : undefined;
  if (reserved !== undefined) return reserved;
  const isShort = value.length <= MAX_ID_BYTES;
  if (isShort && hasLoneSurrogate(value)) return 'Document id must be valid UTF-8';
  if (isShort && fitsUtf8(value, MAX_ID_BYTES)) return undefined;
  return `Document id is longer than ${MAX_ID_BYTES} bytes. Save the document under a shorter id.`;
}

/** The range of design documents in the order of ids: `_design/` and what follows it. */
export const DESIGN_RANGE = { start: DESIGN_PREFIX, end: '_design0', endInclusive: false } as const;

export function isDesignId(id: string): boolean {
  return id.startsWith(DESIGN_PREFIX);
}

export function isLocalId(id: string): boolean {
  return id.startsWith(LOCAL_PREFIX);
}

function reservedFault(id: string): string | undefined {
  if (id === '_local' || id === LOCAL_PREFIX) return 'Invalid _local document id.';
  const isReserved = isLocalId(id) || (isDesignId(id) && id !== DESIGN_PREFIX);
  return isReserved ? undefined : 'Only reserved document ids may start with underscore.';
}
