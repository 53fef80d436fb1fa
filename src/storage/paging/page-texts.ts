import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import { TimeSlice } from '../../base/shared/turn.ts';
import type { NodePages } from '../btree/contract.ts';
import type { PageNumber } from '../page-store.ts';

/**
 * Texts that may be too long for one page. Such a text is cut into pieces, which go to pages with consecutive numbers. So
 * everything that a database accepts can be stored. A piece has up to `maxLength` units, and no surrogate pair is cut in two:
 * halves of one can't be stored.
 */

/** Joining this many units takes a large part of a turn. */
const LONG_TEXT = 4_194_304;

/** Returns how many pages a text of this length takes. */
export function pageCount(length: number, maxLength: number): number {
  return length <= maxLength ? 1 : Math.ceil(length / strideOf(maxLength));
}

/** Returns the pieces of a text, as many as `pageCount` says. */
export function cutText(text: string, maxLength: number): string[] {
  const count = pageCount(text.length, maxLength);
  if (count === 1) return [text];
  const stride = strideOf(maxLength);
  const starts = Array.from({ length: count }, (_unused, index) => pieceStart(text, index * stride));
  return starts.map((start, index) => text.slice(start, starts[index + 1]));
}

/** Returns the text whose pieces `readPage` returns. Other work runs between the pieces, and before they are joined, which is one step. */
export async function readPieces(
  { page, pages }: NodePages,
  readPage: (page: PageNumber) => MaybePromise<string>,
): Promise<string> {
  const timeSlice = new TimeSlice();
  const pieces: Promise<string>[] = [];
  for (let index = 0; index < pages; index += 1) {
    const piece = readOne(readPage, page + index);
    // One that fails while others are still being requested is reported below.
    piece.catch(() => undefined);
    pieces.push(piece);
    if (timeSlice.isDue) await timeSlice.rest();
  }
  const texts = await Promise.all(pieces);
  const length = texts.reduce((sum, piece) => sum + piece.length, 0);
  if (length < LONG_TEXT) return texts.join('');
  await timeSlice.endTurn();
  const text = texts.join('');
  await timeSlice.endTurn();
  return text;
}

async function readOne(readPage: (page: PageNumber) => MaybePromise<string>, page: PageNumber): Promise<string> {
  return readPage(page);
}

/** Returns one unit less than there is room for: a piece may begin one unit earlier. */
function strideOf(maxLength: number): number {
  return maxLength - 1;
}

function pieceStart(text: string, at: number): number {
  const isCutPair = at > 0 && isBetween(text.charCodeAt(at), 0xdc00, 0xdfff);
  return isCutPair && isBetween(text.charCodeAt(at - 1), 0xd800, 0xdbff) ? at - 1 : at;
}

function isBetween(unit: number, low: number, high: number): boolean {
  return unit >= low && unit <= high;
}
