/**
 * Texts in pages, which may be too long for one. Such a text is cut into pieces, which go to pages with consecutive numbers. So
 * everything that a database accepts can be stored. A piece has up to `maxLength` units, and no surrogate pair is cut in two:
 * halves of one can't be stored.
 */

import { type DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import { TimeSlice } from '../../base/shared/turn.ts';
import { wholeCharactersEnd } from '../../base/shared/utf8.ts';
import type { NodePages, NodeReader } from '../btree/contract.ts';
import type { PageFile, PageNumber } from '../page-store.ts';
import { missingPageError } from './page-errors.ts';

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
  const starts = Array.from({ length: count }, (_unused, index) => wholeCharactersEnd(text, index * stride));
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

/**
 * Reads tree nodes from a file. A missing page fails with `missingPageError`. `onDamage` gets the errors that
 * mean that the file is damaged, provided that the reader may expect the page: a dropped page is missing, too.
 */
export function createNodeReader(
  file: PageFile,
  onDamage: (error: DatabaseError) => void = () => undefined,
): NodeReader {
  const fail = (error: unknown): never => {
    if (isDatabaseError(error, 'storage_corrupt')) onDamage(error);
    throw error;
  };
  const failMissing = async (page: PageNumber): Promise<never> => fail(await missingPageError(file, page));
  const readPage = (page: PageNumber): MaybePromise<string> => {
    try {
      const read = file.read(page, 'text');
      if (read instanceof Promise) return read.then((text) => text ?? failMissing(page), fail);
      return read ?? failMissing(page);
    } catch (error) {
      return fail(error);
    }
  };
  return {
    ...(file.readAhead && { readAhead: file.readAhead.bind(file) }),
    readNode: (page, pages) => (pages === 1 ? readPage(page) : readPieces({ page, pages }, readPage)),
  };
}
