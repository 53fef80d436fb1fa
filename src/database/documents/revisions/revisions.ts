/**
 * Revision ids: `<generation>-<hash>` (docs/http/documents.md#revision-identity). A generation counts the edits of a branch from 1; the hash is
 * opaque text, since other services make theirs in other ways.
 */
import { DatabaseError } from '../../../base/errors/database-error.ts';
import { isDigit, SPACE, ZERO } from '../../../base/json/characters.ts';
import { hasLoneSurrogate } from '../../../base/json/portable-values.ts';
import type { RevId, Revision } from '../contract.ts';

/** Maximum digits of a safe integer. */
const MAX_GENERATION_DIGITS = 16;
/** Maximum characters of a hash (docs/http/documents.md#revision-identity). Hashes of other services have 32 or 40. */
const MAX_HASH_LENGTH = 128;
const HYPHEN = 0x2d;

/**
 * Checks a revision id: generation from 1 up to 2^53 - 1, hash as in `checkHash`.
 * Leading zeros of the generation are dropped, so that equal revisions are equal texts. The `0-<n>` of local documents
 * is not valid here (see `isLocalRev`). Fails with `bad_request`.
 */
export function parseRevId(value: unknown): RevId {
  if (typeof value !== 'string') throw invalidRev();
  const hyphen = generationEnd(value);
  const generation = Number(value.slice(0, hyphen));
  if (!Number.isSafeInteger(generation) || generation < 1) throw invalidRev();
  checkHash(value, hyphen + 1);
  return value.charCodeAt(0) === ZERO ? toRevId(generation, value.slice(hyphen + 1)) : (value as RevId);
}

/** Whether this is a local document's revision, `0-<n>` (docs/http/documents.md#local-documents). */
export function isLocalRev(value: string): value is RevId {
  return /^0-\d+$/.test(value);
}

/**
 * Checks that `text`, from `start` on, can be a revision's hash: 1 to 128 characters, valid Unicode without control
 * characters. Fails with `bad_request`.
 */
export function checkHash(text: string, start = 0): void {
  const length = text.length - start;
  if (length < 1) throw invalidRev();
  if (length > MAX_HASH_LENGTH) {
    const reason = `Invalid rev format: the hash has ${length} characters, more than ${MAX_HASH_LENGTH}. Send the revision exactly as the database returned it.`;
    throw new DatabaseError('bad_request', reason);
  }
  for (let at = start; at < text.length; at++) {
    if (text.charCodeAt(at) < SPACE) throw invalidRev();
  }
  if (hasLoneSurrogate(text)) throw invalidRev();
}

export function toRevId(generation: number, hash: string): RevId {
  return `${generation}-${hash}` as RevId;
}

export function toRevision(rev: RevId): Revision {
  const hyphen = rev.indexOf('-');
  return { generation: Number(rev.slice(0, hyphen)), hash: rev.slice(hyphen + 1) };
}

/** Compares in ascending order: by generation, then by hash as text (by code units). */
export function compareRevisions(left: Revision, right: Revision): number {
  if (left.generation !== right.generation) return left.generation - right.generation;
  if (left.hash === right.hash) return 0;
  return left.hash < right.hash ? -1 : 1;
}

/** Returns the index of the hyphen after the generation's digits. */
function generationEnd(value: string): number {
  let at = 0;
  while (at < MAX_GENERATION_DIGITS && isDigit(value.charCodeAt(at))) at++;
  if (at === 0 || value.charCodeAt(at) !== HYPHEN) throw invalidRev();
  return at;
}

export function invalidRev(): DatabaseError {
  return new DatabaseError('bad_request', 'Invalid rev format');
}
