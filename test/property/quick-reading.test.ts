import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonCursor } from '../../src/base/json/json-cursor.ts';
import { atOnce } from '../../src/base/shared/turn.ts';
import { parseDocumentValue, parseJson } from '../../src/database/documents/incoming/fallback-parser.ts';
import {
  type IncomingBulk,
  parseBulkInSteps,
  readBulkInSteps,
  scanBulkInSteps,
} from '../../src/database/documents/incoming/read-bulk.ts';
import { scanDocument } from '../../src/database/documents/incoming/read-document.ts';
import { roundsOf } from '../support/long-runs.ts';

const scanBulk = (text: string): IncomingBulk | undefined => atOnce(scanBulkInSteps(text));
const parseBulk = (text: string): IncomingBulk => atOnce(parseBulkInSteps(text, parseJson(text)));

/** By `JSON.parse` alone. */
const parseDocument = (text: string) => parseDocumentValue(new JsonCursor(text), parseJson(text));

/** What becomes of it, an error by its text. */
function outcomeOf<T>(read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    return String(error);
  }
}

describe('reading part by part', () => {
  test.each([
    ['{"docs":[]}', []],
    ['{"docs":[{"_id":"a","n":1.0},{"n":"\\u00e9"}]}', ['{"n":1.0}', '{"n":"\\u00e9"}']],
    ['{"new_edits":false,"docs":[{"_id":"a","_rev":"1-x","_revisions":{"start":1,"ids":["x"]}}]}', ['{}']],
    [
      ' {\n"all_or_nothing" : true ,"docs" :\t[ { "a" : 1 } , {} ] , "new_edits" : false , "x" : [{}] } \r\n',
      ['{"a":1}', '{}'],
    ],
    ['{"docs":[{"a":1,"a":2}]}', ['{"a":2}']],
    [`{${'"a":true,'.repeat(5)}"docs":[{}]}`, ['{}']],
  ])('works for a bulk request like %s', (text, bodies) => {
    expect(scanBulk(text)?.documents.map(({ body }) => body)).toEqual(bodies);
    expect(scanBulk(text)).toEqual(parseBulk(text));
  });

  test.each([
    ['another list', '{"docs":[{"a":1}],"docs":[{"b":1}]}'],
    ['another list under a spelt name', '{"docs":[{"a":1}],"d\\u006fcs":[]}'],
    ['a comma behind the last document', '{"docs":[{},]}'],
    ['no comma between documents', '{"docs":[{} {}]}'],
    ['a value behind a document', '{"docs":[{} 5]}'],
    ['a value that is no document', '{"docs":[{},5]}'],
    ['no end of the list', '{"docs":[{}'],
    ['no end of the request', '{"docs":[{}]'],
    ['more than a request', '{"docs":[{}]} 1'],
    ['a bad word before the list', '{"new_edits":maybe,"docs":[{}]}'],
    ['a bad id', '{"docs":[{"_id":"_a"}]}'],
    ['no list', '[]'],
  ])('falls back for a bulk request with %s', (_what, text) => expect(scanBulk(text)).toBeUndefined());

  test('works for a bulk request with five million words before the list', () => {
    const text = `{${'"a":true,'.repeat(5_000_000)}"docs":[{}]}`;
    expect(atOnce(readBulkInSteps(text)).documents).toHaveLength(1);
  });

  test('never differs from JSON.parse', () => {
    const part = fc.constantFrom(
      ...[
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '"docs"',
        '"docs":[',
        '{"docs":[',
        '{"a":1}',
        '{"_id":"a"}',
        '{"_id":"_a"}',
        '{}',
      ],
      ...[
        '"new_edits":false',
        '"all_or_nothing":true',
        '"d\\u006fcs"',
        ' ',
        '\u00a0',
        '5',
        '"_rev":"1-a"',
        ']}',
        '{"b":[{}]}',
      ],
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 10 }), (parts) => {
        const text = parts.join('');
        const bulk = scanBulk(text);
        if (bulk !== undefined) expect(bulk).toEqual(parseBulk(text));
        const document = outcomeOf(() => scanDocument(text));
        if (document !== undefined) expect(document).toEqual(outcomeOf(() => parseDocument(text)));
      }),
      { numRuns: roundsOf(1_200, 3_000) },
    );
  });

  test('never differs from JSON.parse if a request loses or gains characters', () => {
    const request =
      '{"new_edits":false,"docs":[{"_id":"a","_rev":"1-b","x":[1,{"y":"z"}]},{"_id":"c"}],"all_or_nothing":true}';
    const edit = fc.record({
      at: fc.nat({ max: request.length }),
      cut: fc.nat({ max: 4 }),
      put: fc.constantFrom('', '"', ',', '{}', ']', '[', '}', ' ', '\\', '0', 'docs'),
    });
    fc.assert(
      fc.property(fc.array(edit, { maxLength: 3 }), (edits) => {
        const text = edits.reduce((now, { at, cut, put }) => now.slice(0, at) + put + now.slice(at + cut), request);
        const bulk = scanBulk(text);
        if (bulk !== undefined) expect(bulk).toEqual(parseBulk(text));
      }),
      { numRuns: roundsOf(1_200, 3_000) },
    );
  });
});
