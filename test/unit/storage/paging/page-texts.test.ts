import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cutText, pageCount, readPieces } from '../../../../src/storage/paging/page-texts.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

describe('a text divided into pages', () => {
  test('is not divided if it fits into one page', () => {
    expect(cutText('12345', 5)).toEqual(['12345']);
    expect(pageCount(5, 5)).toBe(1);
    expect(cutText('', 5)).toEqual(['']);
  });

  test('is cut between characters', () => {
    expect(cutText('123456', 5)).toEqual(['1234', '56']);
    expect(cutText('😀😀😀😀', 4)).toEqual(['😀', '😀😀', '😀']);
  });

  test('has the number of pieces that its length says, each short enough and storable as UTF-8', async () => {
    const text = fc.string({ unit: 'binary', maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 3, max: 20 }), async (whole, maxLength) => {
        const pieces = cutText(whole, maxLength);
        expect(pieces).toHaveLength(pageCount(whole.length, maxLength));
        for (const piece of pieces) {
          expect(piece.length).toBeLessThanOrEqual(maxLength);
          expect(decoder.decode(encoder.encode(piece))).toBe(piece);
        }
        const pages = new Map(pieces.map((piece, index) => [7 + index, piece]));
        const read = (page: number): string => pages.get(page) ?? 'missing';
        expect(await readPieces({ page: 7, pages: pieces.length }, read)).toBe(whole);
      }),
    );
  });
});
