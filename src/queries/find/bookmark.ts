/**
 * Bookmarks say where a response ended, so that the next one continues there. A bookmark is a JSON list in base64url: the plan's
 * name, the key of the last row (null if documents were read without an index), and the id of its document. If the key is very long,
 * the bookmark says instead how many documents were found up to there.
 */
import { queryError } from './query-error.ts';

export interface BookmarkPosition {
  /** The index that was read, empty for the documents themselves. */
  readonly plan: string;
  /** JSON value of the row's key; null for documents. */
  readonly key: unknown;
  readonly id: string;
  /** If the key is too long to be repeated: how many documents were found before the next one. */
  readonly found: number | undefined;
}

/** A longer key is not put into a bookmark: it could not be sent back in the body of a query. */
const MAX_KEY_LENGTH = 65_536;

/** Writes a bookmark. `found`: how many documents were found from the beginning up to this one. */
export function writeBookmark(plan: string, keyText: string, id: string, found: number): string {
  const position =
    keyText.length > MAX_KEY_LENGTH ? `null,${JSON.stringify(id)},${found}` : `${keyText},${JSON.stringify(id)}`;
  const bytes = new TextEncoder().encode(`[${JSON.stringify(plan)},${position}]`);
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Reads a bookmark. Fails with 400 `invalid_bookmark`. */
export function readBookmark(bookmark: string): BookmarkPosition {
  const value = decode(bookmark);
  const [plan, key, id, found]: readonly unknown[] = Array.isArray(value) ? value : [];
  if (typeof plan !== 'string' || key === undefined || typeof id !== 'string') throw invalidBookmark(bookmark);
  if (found !== undefined && (!Number.isSafeInteger(found) || Number(found) < 0)) throw invalidBookmark(bookmark);
  return { plan, key, id, found: found === undefined ? undefined : Number(found) };
}

export function bookmarkName(bookmark: string): string {
  return readBookmark(bookmark).plan;
}

export function invalidBookmark(bookmark: string): Error {
  const remedy = 'Take it from the answer to the same query, or leave it out to start from the beginning.';
  return queryError('invalid_bookmark', `Invalid bookmark value: ${bookmark.slice(0, 200)}. ${remedy}`);
}

function decode(bookmark: string): unknown {
  try {
    const binary = atob(bookmark.replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}
