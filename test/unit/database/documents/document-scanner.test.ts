import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonScanner } from '../../../../src/base/json/json-scanner.ts';
import { DocumentScanner } from '../../../../src/database/documents/incoming/document-scanner.ts';

function scan(text: string) {
  const scanner = new DocumentScanner(new JsonScanner(text));
  if (!scanner.scan(0)) return undefined;
  const { id, rev, deleted, revisions, body, end } = scanner;
  return { id, rev, deleted, revisions, body, rest: text.slice(end) };
}

const nothing = { id: undefined, rev: undefined, deleted: false, revisions: undefined, rest: '' };

const manyNames = (count: number) => Array.from({ length: count }, (_, index) => `"n${index}":0`).join();

describe('the scanner accepts', () => {
  test.each([31, 32, 33, 5000])('a document with %i members', (count) => {
    const text = `{${manyNames(count)}}`;
    expect(scan(text)).toEqual({ ...nothing, body: text });
  });

  test.each([
    ['{}', { ...nothing, body: '{}' }],
    ['{"a":1}', { ...nothing, body: '{"a":1}' }],
    ['{"_id":"x","a":[1,{"b":null}]}', { ...nothing, id: 'x', body: '{"a":[1,{"b":null}]}' }],
    ['{"a":1,"_rev":"1-a","b":true}', { ...nothing, rev: '1-a', body: '{"a":1,"b":true}' }],
    ['{"_id":"\\u0061\\n"}', { ...nothing, id: 'a\n', body: '{}' }],
    ['{"a":1,"_id":"x"}', { ...nothing, id: 'x', body: '{"a":1}' }],
    ['{"_deleted":true}', { ...nothing, deleted: true, body: '{}' }],
    ['{"_deleted":false,"a":""}', { ...nothing, body: '{"a":""}' }],
    [
      '{"_revisions":{"start":2,"ids":["b","a"]},"c":0}',
      { ...nothing, revisions: { start: 2, ids: ['b', 'a'] }, body: '{"c":0}' },
    ],
    ['{ "a" : [ ] ,\n"b":\t{ } }', { ...nothing, body: '{"a":[],"b":{}}' }],
    ['{"a":-0.5e+10,"b":1E300,"c":10}', { ...nothing, body: '{"a":-0.5e+10,"b":1E300,"c":10}' }],
    ['{"a":"\\u00e9\\n\\"\\/\\\\","é":"𝄞"}', { ...nothing, body: '{"a":"\\u00e9\\n\\"\\/\\\\","é":"𝄞"}' }],
    ['{"a":{"b":1,"b":2,"_c":3}}', { ...nothing, body: '{"a":{"b":1,"b":2,"_c":3}}' }],
    ['{"\\u0061":1,"b\\"":2,"":3}', { ...nothing, body: '{"\\u0061":1,"b\\"":2,"":3}' }],
    ['{"":1,"constructor":2}', { ...nothing, body: '{"":1,"constructor":2}' }],
    ['{"a":1},{', { ...nothing, body: '{"a":1}', rest: ',{' }],
  ])('%s', (text, found) => expect(scan(text)).toEqual(found));
});

describe('the scanner leaves to JSON.parse', () => {
  test.each([
    ['a name twice', '{"a":1,"a":2}'],
    ['a reserved member twice', '{"_id":"a","_id":"b"}'],
    ['a name twice, once with an escape', '{"a":1,"\\u0061":2}'],
    ['a reserved member with an escape', '{"_\\u0069d":"a"}'],
    ['a reserved member whose underscore is an escape', '{"\\u005fid":"a"}'],
    ['a name with a bad escape', '{"\\x":1}'],
    ['an id that is no text', '{"_id":1}'],
    ['a reserved member of another name', '{"_attachments":{}}'],
    ['__proto__', '{"__proto__":1}'],
    ['_deleted that is no boolean', '{"_deleted":null}'],
    ['_revisions that is no object', '{"_revisions":[]}'],
    ['one of many names twice', `{${manyNames(100)},"n40":1}`],
    ['one of the first of many names twice', `{${manyNames(100)},"n3":1}`],
    ['a name twice where many begin', `{${manyNames(32)},"n31":1}`],
    ['great depth', `{"a":${'['.repeat(100)}${']'.repeat(100)}}`],
    ['no object', '[1]'],
    ['the end of the text', ''],
    ['an open object', '{"a":1'],
    ['an open string', '{"a":"1'],
    ['an open name', '{"a'],
    ['an open escape', '{"a":"\\'],
    ['a short escape', '{"a":"\\u12"}'],
    ['an unknown escape', '{"a":"\\x41"}'],
    ['a control character', '{"a":"\t"}'],
    ['a control character in a name', '{"\n":1}'],
    ['a trailing comma', '{"a":1,}'],
    ['a trailing comma in a list', '{"a":[1,]}'],
    ['a missing comma', '{"a":1 "b":2}'],
    ['a missing colon', '{"a" 1}'],
    ['a missing value', '{"a":}'],
    ['a missing name', '{:1}'],
    ['a missing name in the middle', '{"a":{:1}}'],
    ['a second colon', '{"a"::1}'],
    ['two commas', '{"a":1,,"b":2}'],
    ['a comma alone', '{,}'],
    ['a comma alone in a list', '{"a":[,]}'],
    ['a number with two points', '{"a":1.2.3}'],
    ['a name without quotes', '{a:1}'],
    ['a leading zero', '{"a":01}'],
    ['a sign alone', '{"a":-}'],
    ['a plus', '{"a":+1}'],
    ['a point without digits', '{"a":1.}'],
    ['digits without a whole', '{"a":.5}'],
    ['an exponent without digits', '{"a":1e+}'],
    ['a literal with more behind it', '{"a":trues}'],
    ['an unknown literal', '{"a":NaN}'],
    ['a bracket that is closed by a brace', '{"a":[1}}'],
    ['white space of another kind', '{"a":\u00a01}'],
  ])('%s', (_what, text) => expect(scan(text)).toBeUndefined());
});

/** A text that was valid, with a few characters of it changed. */
const damaged = fc
  .tuple(
    fc.dictionary(fc.constantFrom('a', 'b', '_id', '_rev', '_deleted', 'é"'), fc.jsonValue({ depthSize: 'small' })),
    fc.array(
      fc.record({
        at: fc.nat(200),
        removed: fc.nat(2),
        added: fc.constantFrom(
          '',
          '',
          '"',
          '\\',
          '{',
          '}',
          '[',
          ']',
          ',',
          ':',
          ' ',
          '0',
          '-',
          '.',
          'e',
          'u',
          '\n',
          'true',
          '_',
        ),
      }),
      { maxLength: 3 },
    ),
  )
  .map(([value, damages]) =>
    damages.reduce(
      (text, { at, removed, added }) => text.slice(0, at) + added + text.slice(at + removed),
      JSON.stringify(value),
    ),
  );

/** Pieces of JSON in any order, which now and then make a document. */
const shuffledPieces = fc
  .array(
    fc.constantFrom(
      ...[
        '{',
        '}',
        '[',
        ']',
        ':',
        ',',
        '"a":',
        '"b":',
        '"a"',
        '1',
        '-',
        '0',
        '.',
        'e',
        '"',
        ' ',
        'true',
        '\\',
        '"_id"',
        '\t',
      ],
    ),
    { maxLength: 9 },
  )
  .map((pieces) => `{${pieces.join('')}}`);

test.each([
  ['of damaged documents', damaged],
  ['of shuffled pieces', shuffledPieces],
])('text that the scanner accepts %s has the value that JSON.parse reads', (_of, texts) => {
  fc.assert(
    fc.property(texts, (text) => {
      const found = scan(text);
      if (found === undefined) return;
      const { _id, _rev, _deleted, _revisions, ...others } = JSON.parse(text.slice(0, text.length - found.rest.length));
      expect(found).toMatchObject({ id: _id, rev: _rev, deleted: _deleted ?? false });
      expect(JSON.parse(found.body)).toEqual(others);
    }),
    { numRuns: 5_000 },
  );
});
