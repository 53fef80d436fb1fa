import { describe, expect, test } from 'vitest';
import { atOnce } from '../../../../src/base/shared/turn.ts';
import { readBulkInSteps } from '../../../../src/database/documents/incoming/read-bulk.ts';
import { readDocument } from '../../../../src/database/documents/incoming/read-document.ts';

const plain = {
  id: undefined,
  rev: undefined,
  badRev: undefined,
  deleted: false,
  revisions: undefined,
  attachments: [],
};
const bodyOf = (text: string) => readDocument(text).body;
const TOO_DEEP = 'The JSON has arrays and objects in more than 1000 levels; send what is nested deeper as a string.';
const readBulk = (text: string) => atOnce(readBulkInSteps(text));

describe('an incoming document', () => {
  test('is its body if it has no reserved members', () => {
    expect(readDocument('{"a":1,"b":"x"}')).toEqual({ ...plain, body: '{"a":1,"b":"x"}' });
    expect(readDocument('{}')).toEqual({ ...plain, body: '{}' });
  });

  test('is divided into reserved members and body', () => {
    expect(
      readDocument(
        '{"_id":"d","_rev":"2-b","a":1,"_deleted":true,"b":2,"c":3,"_revisions":{"start":2,"ids":["b","a"]},"_attachments":{"x":{"stub":true}}}',
      ),
    ).toEqual({
      id: 'd',
      rev: '2-b',
      deleted: true,
      revisions: { start: 2, ids: ['b', 'a'] },
      attachments: [expect.objectContaining({ name: 'x', source: 'stub' })],
      body: '{"a":1,"b":2,"c":3}',
    });
  });

  test.each([
    ['{"_id":"a"}', '{}'],
    ['{"_id":"a","x":1}', '{"x":1}'],
    ['{"x":1,"_id":"a"}', '{"x":1}'],
    ['{"x":1,"_id":"a","y":2}', '{"x":1,"y":2}'],
    ['{"_id":"a","x":1,"_rev":"1-a","y":2,"_deleted":false}', '{"x":1,"y":2}'],
    ['{"_conflicts":[{"a":"}"}],"x":1,"_revs_info":5,"_deleted_conflicts":"","_local_seq":{}}', '{"x":1}'],
    ['{"a":{"_id":"inner","_x":1}}', '{"a":{"_id":"inner","_x":1}}'],
    ['{"":1,"a_b":2}', '{"":1,"a_b":2}'],
  ])('%s has the body %s', (text, body) => expect(bodyOf(text)).toBe(body));

  test('keeps the members that describe a replication', () => {
    const text =
      '{"_replication_state":"completed","_replication_state_time":"t","_replication_state_reason":null,"_replication_id":"i","_replication_stats":{}}';
    expect(bodyOf(text)).toBe(text);
    expect(bodyOf('{"_id":"a","_replication_id":"i","source":"s"}')).toBe('{"_replication_id":"i","source":"s"}');
  });

  test('loses its white space, but not that of its strings', () => {
    expect(readDocument(' \n{ "_id" : "d e" ,\t"a b" : [ 1 , " x " ] , "_rev":"1-a" ,"c": { } }\r\n')).toEqual({
      ...plain,
      id: 'd e',
      rev: '1-a',
      body: '{"a b":[1," x "],"c":{}}',
    });
    expect(bodyOf('{ }')).toBe('{}');
  });

  test.each(['9007199254740993', '12345678901234567890123', '1e308', '1e-400', '-0', '1.0', '1E-5', '0.1000'])(
    'keeps the digits of %s',
    (number) => {
      expect(bodyOf(`{"_id":"a","n":${number}}`)).toBe(`{"n":${number}}`);
    },
  );

  test('keeps the spelling of strings', () => {
    const body = String.raw`{"pair":"\ud83d\uDE00","\u0061":"\u00e9é\/","q":"\\\""}`;
    expect(bodyOf(`{"_id":"a",${body.slice(1)}`)).toBe(body);
  });

  test('keeps members with the names of built-in properties', () => {
    expect(() => bodyOf('{"__proto__":1}')).toThrow('doc_validation: Bad special document member: __proto__');
    expect(bodyOf('{"constructor":1,"hasOwnProperty":2,"toString":{"__proto__":3}}')).toBe(
      '{"constructor":1,"hasOwnProperty":2,"toString":{"__proto__":3}}',
    );
  });

  test('takes no reserved member from a nested or inherited object', () => {
    expect(readDocument('{"a":{"_id":"x","_deleted":true,"_attachments":{"y":1}}}')).toMatchObject(plain);
  });

  test('recognizes reserved names in any spelling', () => {
    expect(readDocument(String.raw`{"\u005fid":"a","_\u0072ev":"1-a","x":1}`)).toEqual({
      ...plain,
      id: 'a',
      rev: '1-a',
      body: '{"x":1}',
    });
    expect(bodyOf(String.raw`{"\u0061":1}`)).toBe(String.raw`{"\u0061":1}`);
    expect(() => bodyOf(String.raw`{"\u005fx":1}`)).toThrow('doc_validation: Bad special document member: _x');
  });

  test('uses the last of members with the same name', () => {
    expect(readDocument('{"_id":"a","x":1,"_id":"b","y":2,"x":3}')).toMatchObject({ id: 'b', body: '{"x":3,"y":2}' });
    expect(bodyOf(String.raw`{ "a" : 1, "\u0061" : [ 2 ] }`)).toBe(String.raw`{"\u0061":[2]}`);
    expect(readDocument('{"_deleted":true,"_deleted":false}')).toEqual({ ...plain, body: '{}' });
  });

  test('can be deeply nested', () => {
    const deep = '['.repeat(999) + ']'.repeat(999);
    expect(bodyOf(`{"_id":"a","deep":${deep}}`)).toBe(`{"deep":${deep}}`);
  });

  test.each(['[', '{"a":'])(
    'is refused if it is nested more than 1000 levels deep, whatever follows (%s)',
    (opening) => {
      const text = `{"deep":${opening.repeat(1_000)}`;
      expect(() => readDocument(text)).toThrow(expect.objectContaining({ code: 'bad_request', reason: TOO_DEEP }));
      expect(() => atOnce(readBulkInSteps(`{"docs":[{"_id":"a"},${text}`))).toThrow(
        expect.objectContaining({ code: 'bad_request', reason: TOO_DEEP }),
      );
    },
  );

  test.each([
    ['absent', '{}', []],
    ['none', '{"_attachments":{}}', []],
    [
      'a stub',
      '{"_attachments":{"a":{"stub":true}}}',
      [{ name: 'a', source: 'stub', contentType: 'application/octet-stream' }],
    ],
    [
      'in the order of the text',
      '{"_attachments" : {"b":{"stub":true}, "2":{"stub":true},"1":{"stub":true}},"n":1}',
      [{ name: 'b' }, { name: '2' }, { name: '1' }],
    ],
    [
      'those of the last member',
      '{"_attachments":{"a":{"stub":true}},"_attachments":{"b":{"stub":true}}}',
      [{ name: 'b' }],
    ],
    [
      'data',
      '{"_attachments":{"a/b":{"content_type":"text/plain","data":"eA==","revpos":3}}}',
      [{ name: 'a/b', source: { data: 'eA==' }, contentType: 'text/plain', revpos: 3 }],
    ],
    [
      'what follows',
      '{"_attachments":{"a":{"follows":true,"length":5,"digest":"md5-mDPt5dRPRjNlRBi6Dk2XYQ==","encoding":"gzip","encoded_length":3}}}',
      [
        {
          source: 'follows',
          length: 5,
          digest: '9833ede5d44f4633654418ba0e4d9761',
          encoding: 'gzip',
          encodedLength: 3,
        },
      ],
    ],
  ])('has attachments: %s', (_, text, expected) => expect(readDocument(text).attachments).toMatchObject(expected));

  test.each([
    ['"x"', 'Invalid attachment data for a: it is no object.'],
    ['{}', 'Invalid attachment data for a: it has neither data, nor stub, nor follows.'],
    ['{"stub":true,"content_type":1}', 'Invalid attachment data for a: its content_type is no text.'],
  ])('is refused with an attachment that is %s', (entry, reason) => {
    expect(() => readDocument(`{"_attachments":{"a":${entry}}}`)).toThrow(
      expect.objectContaining({ code: 'bad_request', reason }),
    );
  });

  test.each([
    ['_a', "Attachment name can't start with '_'"],
    ['', 'Attachment name must not be empty'],
    ['\ud800', 'Attachment name is not UTF-8 encoded'],
  ])('is refused with an attachment named "%s"', (name, reason) => {
    const text = JSON.stringify({ _attachments: { [name]: { stub: true } } });
    expect(() => readDocument(text)).toThrow(expect.objectContaining({ code: 'bad_request', reason }));
  });
});

describe('the revision of an incoming document', () => {
  const document = (members: object) => readDocument(JSON.stringify(members));

  test('is the newest of _revisions if there is no _rev', () => {
    expect(document({ _revisions: { start: 3, ids: ['c', 'b'] } })).toMatchObject({
      rev: '3-c',
      revisions: { start: 3, ids: ['c', 'b'] },
    });
  });
  test('is the newest of _revisions if _rev differs', () => {
    const _revisions = { start: 3, ids: ['c', 'b'] };
    expect(document({ _rev: '2-a', _revisions }).rev).toBe('3-c');
    expect(document({ _revisions, _rev: '2-a' }).rev).toBe('3-c');
    expect(() => document({ _rev: 'a', _revisions })).toThrow('bad_request: Invalid rev format');
  });
  test('can be local if the id can be', () => {
    expect(document({ _id: '_local/a', _rev: '0-3' }).rev).toBe('0-3');
    expect(document({ _rev: '0-3' }).rev).toBe('0-3');
    expect(() => document({ _id: 'a', _rev: '0-3' })).toThrow('bad_request: Invalid rev format');
  });
  test('has no ancestry if that is empty or local', () => {
    expect(document({ _revisions: { start: 0, ids: [] } }).revisions).toBeUndefined();
    expect(document({ _id: '_local/a', _rev: '0-3', _revisions: { start: 0, ids: ['3'] } })).toMatchObject({
      rev: '0-3',
      revisions: undefined,
    });
  });
});

describe('a document is refused', () => {
  test.each([
    ['', 'bad_request: invalid_json'],
    ['{"a":1', 'bad_request: invalid_json'],
    ["{'a':1}", 'bad_request: invalid_json'],
    ['{}{}', 'bad_request: invalid_json'],
    ['[]', 'bad_request: Document must be a JSON object'],
    ['"{}"', 'bad_request: Document must be a JSON object'],
    ['null', 'bad_request: Document must be a JSON object'],
    ['5', 'bad_request: Document must be a JSON object'],
    ['{"_id":5}', 'bad_request: Document id must be a string'],
    ['{"_id":null}', 'bad_request: Document id must be a string'],
    ['{"_id":""}', 'bad_request: Document id must not be empty'],
    ['{"_id":"\\ud800"}', 'bad_request: Document id must be valid UTF-8'],
    ['{"_id":"_x"}', 'bad_request: Only reserved document ids may start with underscore.'],
    ['{"_rev":5}', 'bad_request: Invalid rev format'],
    ['{"_rev":null}', 'bad_request: Invalid rev format'],
    ['{"_rev":"x"}', 'bad_request: Invalid rev format'],
    ['{"_x":1}', 'doc_validation: Bad special document member: _x'],
    ['{"a":1,"_":1}', 'doc_validation: Bad special document member: _'],
    ['{"_ID":"a"}', 'doc_validation: Bad special document member: _ID'],
    ['{"_deleted":"true"}', 'doc_validation: Bad special document member: _deleted'],
    ['{"_deleted":null}', 'doc_validation: Bad special document member: _deleted'],
    ['{"_deleted":1}', 'doc_validation: Bad special document member: _deleted'],
    ['{"_attachments":[]}', 'doc_validation: Bad special document member: _attachments'],
    ['{"_attachments":null}', 'doc_validation: Bad special document member: _attachments'],
    ['{"_revisions":null}', 'doc_validation: Bad special document member: _revisions'],
    ['{"_revisions":{"ids":["a"]}}', "doc_validation: _revisions.start isn't an integer."],
    ['{"_revisions":{"start":"1","ids":["a"]}}', "doc_validation: _revisions.start isn't an integer."],
    ['{"_revisions":{"start":1.5,"ids":["a"]}}', "doc_validation: _revisions.start isn't an integer."],
    ['{"_revisions":{"start":1}}', "doc_validation: _revisions.ids isn't a array."],
    ['{"_revisions":{"start":1,"ids":{}}}', "doc_validation: _revisions.ids isn't a array."],
    ['{"_revisions":{"start":1,"ids":[1]}}', "doc_validation: RevId isn't a string"],
    ['{"_revisions":{"start":1,"ids":[""]}}', 'bad_request: Invalid rev format'],
    ['{"_revisions":{"start":1,"ids":["a\\n"]}}', 'bad_request: Invalid rev format'],
    ['{"_revisions":{"start":1,"ids":["b","a"]}}', 'doc_validation: _revisions.start is 1, but _revisions.ids has 2'],
    ['{"_revisions":{"start":-1,"ids":["a"]}}', 'doc_validation: _revisions.start is -1, but _revisions.ids has 1'],
  ])('%s', (text, reason) => expect(() => readDocument(text)).toThrow(reason));

  test.each(['"\\ud800"', '"\\uDFFF a"', '["\\ud83d\\ud83d"]', '{"\\udc00\\ud800":1}', '"\\ud83d"'])(
    'for a lone surrogate: %s',
    (value) => {
      for (const text of [`{"a":[{"b":${value}}]}`, `{"a":${'['.repeat(200)}${value}${']'.repeat(200)}}`]) {
        expect(() => readDocument(text)).toThrow('bad_request: A string has a lone surrogate');
        expect(() => readBulk(`{"docs":[{"x":1},${text}]}`)).toThrow('bad_request: A string has a lone surrogate');
      }
    },
  );

  test.each(['1e400', '-1E+309', '1e0400', '9'.repeat(310), `${'9'.repeat(250)}e99`])(
    "for a number that doubles can't hold: %s",
    (value) => {
      for (const text of [`{"a":{"b":[${value}]}}`, `{"_local_seq":1,"a":${value}}`]) {
        expect(() => readDocument(text)).toThrow('bad_request: A number is larger than any double');
        expect(() => readBulk(`{"docs":[${text},{}]}`)).toThrow('bad_request: A number is larger than any double');
      }
    },
  );
});

describe('a bulk request', () => {
  test('has its documents in order, and its flags', () => {
    expect(readBulk('{"docs":[{"_id":"a","x":1},{"y":"]}"},{}]}')).toEqual({
      documents: [
        { ...plain, id: 'a', body: '{"x":1}' },
        { ...plain, body: '{"y":"]}"}' },
        { ...plain, body: '{}' },
      ],
      newEdits: true,
      allOrNothing: false,
    });
    expect(readBulk('{"new_edits":false,"all_or_nothing":true,"docs":[]}')).toEqual({
      documents: [],
      newEdits: false,
      allOrNothing: true,
    });
  });

  test.each(['null', '0', '""', '"false"', 'true'])('makes new edits if new_edits is %s', (value) => {
    expect(readBulk(`{"docs":[],"new_edits":${value}}`).newEdits).toBe(true);
  });
  test.each(['1', '"true"', '{}', 'false'])('is not all_or_nothing if that is %s', (value) => {
    expect(readBulk(`{"docs":[],"all_or_nothing":${value}}`).allOrNothing).toBe(false);
  });

  test('ignores unknown members and white space', () => {
    const text =
      '\n{ "w" : {"docs":[{"_id":"no"}]} , "docs" : [ { "_id" : "a" , "x" : 1 } , { "y":2 } ] , "new_edits" : false }\n';
    expect(readBulk(text).documents.map(({ id, body }) => [id, body])).toEqual([
      ['a', '{"x":1}'],
      [undefined, '{"y":2}'],
    ]);
  });

  test('minifies only the documents that need it', () => {
    expect(readBulk('{"docs":[{"a": 1},{"b":" "}, {"c":[ ]}]}').documents.map(({ body }) => body)).toEqual([
      '{"a":1}',
      '{"b":" "}',
      '{"c":[]}',
    ]);
  });

  test.each([
    '{"docs":[{"a":1},{"b":2}],"docs":[{"c":3}]}',
    '{"docs":[],"docs":[{"c":3}]}',
    '{"docs":[{"_id":5}],"docs":[{"c":3}]}',
    '{"docs":5,"docs":[{"c":3}]}',
    '{"docs":"{\\"a","docs":[{"c":3}]}',
    '{"docs":{"a":[{}]},"docs":[{"c":3}]}',
    '{"docs":["{"],"docs":[{"c":3}]}',
    '{"\\u0064ocs":[{"c":3}]}',
  ])('uses the last member "docs": %s', (text) => {
    expect(readBulk(text).documents).toEqual([{ ...plain, body: '{"c":3}' }]);
  });

  test.each([
    ['{', 'bad_request: invalid_json'],
    ['[]', 'bad_request: Request body must be a JSON object'],
    ['null', 'bad_request: Request body must be a JSON object'],
    ['{}', "bad_request: Missing JSON list of 'docs'"],
    ['{"docs":{}}', "bad_request: Missing JSON list of 'docs'"],
    ['{"docs":null}', "bad_request: Missing JSON list of 'docs'"],
    ['{"docs":[{},5]}', 'bad_request: Document must be a JSON object'],
    ['{"docs":[[]]}', 'bad_request: Document must be a JSON object'],
    ['{"docs":[{},{"_id":"_y"}]}', 'bad_request: Only reserved document ids may start with underscore.'],
    ['{"docs":[{},{"_y":1}]}', 'doc_validation: Bad special document member: _y'],
  ])('is refused: %s', (text, reason) => expect(() => readBulk(text)).toThrow(reason));
});

describe('a large bulk request', () => {
  const big = 'x'.repeat(40_000);
  const document = (n: number) => `{"n":${n},"text":"${big}"}`;
  const list = (count: number, separator = ',') => Array.from({ length: count }, (_, n) => document(n)).join(separator);

  function stepsOf(text: string): { readonly steps: number; readonly bodies: readonly string[] } {
    const work = readBulkInSteps(text);
    let steps = 0;
    for (let step = work.next(); ; step = work.next()) {
      if (step.done) return { steps, bodies: step.value.documents.map(({ body }) => body) };
      steps++;
    }
  }

  test('is read in steps, none of which is large', () => {
    const { steps, bodies } = stepsOf(`{"docs":[${list(40, ' ,\n')} ] , "new_edits":false}`);
    expect(steps).toBe(22);
    expect(bodies).toEqual(Array.from({ length: 40 }, (_, n) => document(n)));
  });

  test.each([0, 1, 2, 3])('can end at the end of a step or within one: %s more', (more) => {
    expect(stepsOf(`{"docs":[${list(2 + more)}]}`).bodies).toHaveLength(2 + more);
  });

  test.each([
    ['no comma between two steps', `{"docs":[${list(2)} ${list(2)}]}`],
    ['two commas between two steps', `{"docs":[${list(2)},,${list(2)}]}`],
    ['a comma before the first document', `{"docs":[,${list(4)}]}`],
    ['a comma behind the last document', `{"docs":[${list(4)},]}`],
    ['an open list', `{"docs":[${list(4)}`],
    ['an open document', `{"docs":[${list(3)},{"a":1`],
    ['an open string', `{"docs":[${list(3)},{"a":"`],
    ['an open object', `{"docs":[${list(4)}]`],
    ['a comma behind a request', `{"docs":[${list(4)}]},`],
    ['a colon that is missing', `{"docs" [${list(4)}]}`],
    ['what is no white space', `{"docs":\u0001[${list(4)}\u0001]}`],
    ['what is no white space between two steps', `{"docs":[${list(2)}\u0001,${list(2)}]}`],
    ['a bad number in a late document', `{"docs":[${list(3)},{"a":01}]}`],
    ['a bad member behind the list', `{"docs":[${list(3)}],"new_edits":fals}`],
  ])('is refused with %s', (_what, text) => {
    expect(() => JSON.parse(text)).toThrow();
    expect(() => readBulk(text)).toThrow('bad_request: invalid_json');
  });

  test.each([
    ['an array', `{"docs":[${list(3)},[]]}`, 'bad_request: Document must be a JSON object'],
    ['a number', `{"docs":[${list(3)},7]}`, 'bad_request: Document must be a JSON object'],
    ['a bad id', `{"docs":[${list(3)},{"_id":1}]}`, 'bad_request'],
  ])('is refused with a late document that is %s', (_what, text, reason) => {
    expect(() => readBulk(text)).toThrow(reason);
  });

  test('uses the last list', () => {
    expect(readBulk(`{"docs":[${list(4)}],"docs":[${document(7)}]}`).documents.map(({ body }) => body)).toEqual([
      document(7),
    ]);
  });
});
