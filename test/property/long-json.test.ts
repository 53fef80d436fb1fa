import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JsonScanner } from '../../src/base/json/json-scanner.ts';
import { LongJsonScanner } from '../../src/base/json/long-json-scanner.ts';
import { minify, minifyInSteps } from '../../src/base/json/white-space.ts';
import { atOnce } from '../../src/base/shared/turn.ts';
import { encodeInSteps } from '../../src/base/shared/utf8.ts';
import { readDocument, readDocumentInSteps } from '../../src/database/documents/incoming/read-document.ts';
import { roundsOf } from '../support/long-runs.ts';

const jsonText = fc
  .record({ value: fc.jsonValue({ maxDepth: 6 }), indent: fc.constantFrom(0, 1, 2) })
  .map(({ value, indent }) => JSON.stringify(value, undefined, indent));

/** Texts of which many are no JSON: a character is taken out, or another one put in its place. */
const nearlyJsonText = fc
  .record({
    text: jsonText,
    place: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
    instead: fc.constantFrom('', '"', '\\', ',', ':', '[', '}', '0', ' ', '\n', 'e', '\ud800'),
    isDamaged: fc.boolean(),
  })
  .map(({ text, place, instead, isDamaged }) => {
    const at = Math.floor(place * text.length);
    return isDamaged ? text.slice(0, at) + instead + text.slice(at + 1) : text;
  });

test('the end of a value is the same in steps of any size', () => {
  fc.assert(
    fc.property(nearlyJsonText, fc.integer({ min: 1, max: 40 }), (text, stepLength) => {
      const [whole, long] = [new JsonScanner(text), new LongJsonScanner(text, stepLength)];
      const end = whole.valueEnd(0, 0);
      expect(atOnce(long.valueEnd(0, 0))).toBe(end);
      if (end === text.length) expect(long.sawSpace).toBe(whole.sawSpace);
    }),
    { numRuns: roundsOf(2_000, 5_000) },
  );
});

test('a value that is nested too deeply has no end', () => {
  for (const depth of [99, 100, 101, 150]) {
    const text = '['.repeat(depth) + ']'.repeat(depth);
    expect(atOnce(new LongJsonScanner(text, 8).valueEnd(0, 0))).toBe(new JsonScanner(text).valueEnd(0, 0));
  }
});

/** Longer than what is read in one go. */
const filling = '"filling": [1, "two", {"three": [3.5e1, null, true]}, "\\u00e9\\n"]';
const long = `{"_id": "long", "_rev": "1-a", ${Array.from({ length: 9_000 }, (_, n) => `"m${n}": {${filling}}`).join(', ')}}`;

test.each([
  ['a document', long],
  [
    'one with a deleted history',
    long.replace('"m7"', '"_deleted": true, "_revisions": {"start": 1, "ids": ["a"]}, "m7"'),
  ],
  ['one with a name twice', long.replace('"m7"', '"m5"')],
  ['one with attachments', long.replace('"m7"', '"_attachments": {}, "m7"')],
  ['one with one long string', JSON.stringify({ text: 'x\u0001"\\é😀'.repeat(100_000) })],
  ['one with one long list', JSON.stringify({ list: new Array(200_000).fill(1.5) }, undefined, 1)],
])('%s is read in steps as in one go', (_what, text) => {
  expect(text.length).toBeGreaterThan(300_000);
  expect(atOnce(readDocumentInSteps(text))).toEqual(readDocument(text));
});

test.each([
  ['that ends early', long.slice(0, -1)],
  ['with something behind it', `${long}x`],
  ['with a reserved name that is not known', long.replace('"m7"', '"_m7"')],
  ['that is a list', `[${long}]`],
])('a document %s is refused in steps as in one go', (_what, text) => {
  expect.assertions(2);
  const refusalOf = (read: () => unknown) => {
    try {
      return read();
    } catch (error) {
      return error;
    }
  };
  const refusal = refusalOf(() => readDocument(text));
  expect(refusal).toBeInstanceOf(Error);
  expect(refusalOf(() => atOnce(readDocumentInSteps(text)))).toMatchObject({ message: (refusal as Error).message });
});

test('reading a long document, and removing its white space, can pause in the middle', () => {
  expect([...readDocumentInSteps(long)].length).toBeGreaterThan(5);
  expect([...minifyInSteps(long)].length).toBeGreaterThan(5);
  expect(atOnce(minifyInSteps(long))).toBe(minify(long));
});

test('a text is encoded in steps as in one go, wherever its pieces end', () => {
  for (const padding of ['', 'x']) {
    const text = padding + '😀é\ud800'.repeat(400_000);
    expect([...encodeInSteps(text)].length).toBeGreaterThan(2);
    expect(Buffer.from(atOnce(encodeInSteps(text))).equals(Buffer.from(new TextEncoder().encode(text)))).toBe(true);
  }
});
