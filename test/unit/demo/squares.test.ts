import { expect, test } from 'vitest';
import { emitSquare, squareOf } from '../../../demo/src/data/squares.ts';

/** What the view of the map emits for a document. */
function emitted(document: unknown): unknown[] {
  const keys: unknown[] = [];
  new Function('emit', 'doc', `(${emitSquare})(doc)`)((key: unknown) => keys.push(key), document);
  return keys;
}

test.each([
  { place: [90, -180], square: 0 },
  { place: [48.2, 16.4], square: 41 * 360 + 196 },
  { place: [-33.9, 18.4], square: 123 * 360 + 198 },
  { place: [-90, 180], square: 179 * 360 + 359 },
] as const)('the page and its view put $place into the same square of the map', ({ place, square }) => {
  expect(squareOf(place)).toBe(square);
  expect(emitted({ latlng: place })).toEqual([square]);
});

test.each([[{}], [{ latlng: 'Vienna' }], [{ latlng: [1] }], [{ latlng: ['1', '2'] }]])(
  'a document without a place is in no square: %j',
  (document) => {
    expect(emitted(document)).toEqual([]);
  },
);
