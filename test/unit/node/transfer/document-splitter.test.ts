import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DocumentSplitter, InputError, type InputFormat } from '../../../../src/node/transfer/document-splitter.ts';

function split(text: string, format: InputFormat = 'auto', pieceLength = text.length || 1): string[] {
  const splitter = new DocumentSplitter(format);
  const documents: string[] = [];
  for (let at = 0; at < text.length; at += pieceLength)
    documents.push(...splitter.push(text.slice(at, at + pieceLength)));
  documents.push(...splitter.finish());
  return documents;
}

describe('the document splitter', () => {
  test.each([
    ['an array', '[{"a":1},\n {"b":[2,{"c":"]}"}]} ]\n', ['{"a":1}', '{"b":[2,{"c":"]}"}]}']],
    ['an empty array', ' [ ] ', []],
    ['lines', '{"a":1}\n{"b":2}\n', ['{"a":1}', '{"b":2}']],
    ['lines without an end', '{"a":1}\r\n\r\n{"b":2}', ['{"a":1}', '{"b":2}']],
    ['objects over several lines', '{\n "a": 1\n}\n{\n "b": {}\n}', ['{\n "a": 1\n}', '{\n "b": {}\n}']],
    ['nothing', '', []],
    ['white space', ' \n\t', []],
    ['an object with docs', '{"docs":[{"a":1},{"b":2}]}', ['{"a":1}', '{"b":2}']],
    ['an object with docs behind a switch', '{ "new_edits" : false , "docs" : [ {"a":1} ] , "x": [1] }', ['{"a":1}']],
    [
      'an object with rows',
      '{"total_rows":2,"offset":0,"rows":[\r\n{"id":"a","doc":{"_id":"a"}},\r\n{"id":"b","doc":{"_id":"b"}}\r\n]}\n',
      ['{"id":"a","doc":{"_id":"a"}}', '{"id":"b","doc":{"_id":"b"}}'],
    ],
    ['a text as sequence', '{"total_rows":1,"update_seq":"12-g1AA","rows":[{"id":"a"}]}', ['{"id":"a"}']],
    ['a document with docs, behind an _id', '{"_id":"x","docs":[{"a":1}]}', ['{"_id":"x","docs":[{"a":1}]}']],
    ['a document with docs that is no array', '{"docs":{"a":1}}', ['{"docs":{"a":1}}']],
    ['a byte order mark', '\ufeff[{"a":1}]', ['{"a":1}']],
    [
      'braces, quotes and backslashes in strings',
      '[{"a":"}\\"]{\\\\"},{"\\\\":"["}]',
      ['{"a":"}\\"]{\\\\"}', '{"\\\\":"["}'],
    ],
    [
      'elements that are no objects',
      '[1,"a]\\"}",null,[{"b":2}],{"c":3},-1.5e+3,true , "" ]',
      ['1', '"a]\\"}"', 'null', '[{"b":2}]', '{"c":3}', '-1.5e+3', 'true', '""'],
    ],
    ['lines that are no objects', '{"a":1}\n42\nnull\n"b"\n[1]\n7', ['{"a":1}', '42', 'null', '"b"', '[1]', '7']],
    ['digits that a number can not hold', '[{"n":12345678901234567890.0100}]', ['{"n":12345678901234567890.0100}']],
  ])('reads %s', (_name, text, documents) => {
    expect(split(text)).toEqual(documents);
    expect(split(text, 'auto', 1)).toEqual(documents);
  });

  test('recognizes rows', () => {
    const rows = new DocumentSplitter('auto');
    expect([...rows.push('{"rows":[{"id":"a"}]}'), ...rows.finish()]).toEqual(['{"id":"a"}']);
    expect(rows.givesRows).toBe(true);
    const docs = new DocumentSplitter('auto');
    expect([...docs.push('{"docs":[{"id":"a"}]}'), ...docs.finish()]).toEqual(['{"id":"a"}']);
    expect(docs.givesRows).toBe(false);
  });

  test('accepts a given layout where guessing would fail', () => {
    expect(split('{"docs":[{"a":1}]}\n{"docs":[]}', 'lines')).toEqual(['{"docs":[{"a":1}]}', '{"docs":[]}']);
    expect(split('{"docs":[{"a":1}]}', 'docs')).toEqual(['{"a":1}']);
    expect(() => split('[{"a":1}]', 'rows')).toThrow('the text is not an object that begins with an array "rows"');
    expect(() => split('{"docs":[]}', 'rows')).toThrow('the text is not an object that begins with an array "rows"');
    expect(() => split('{"a":1}', 'array')).toThrow('the text does not begin with [');
  });
});

describe('the document splitter refuses', () => {
  const secondObject =
    'there is more text after the object with its documents; import the parts one by one, or use --format lines if each line is a document';
  test.each([
    ['[{"a":1}', 'the text ends before the closing bracket of its array'],
    ['[{"a":1},{"b":', 'the text ends inside document 2, which begins {"b":'],
    ['{"a":"x', 'the text ends inside document 1, which begins {"a":"x'],
    [`{"a":"${'x'.repeat(90)}`, `the text ends inside document 1, which begins {"a":"${'x'.repeat(54)}`],
    ['{"docs":[{"a":1}]', 'the text ends before the closing brace of its object'],
    ['{"rows":[\n', 'the text ends before the closing bracket of its array'],
    ['[{"a":1} {"b":2}]', '"{" at character 10, after document 1, where an object should begin'],
    ['[{"a":1},]', '"]" at character 10, after document 1, where an object should begin'],
    ['[1,x]', '"x" at character 4, after document 1, where an object should begin'],
    ['[1 2]', '"2" at character 4, after document 1, where an object should begin'],
    ['[{"a":1},nil]', '"nil" after document 1 is not a JSON value'],
    ['name,id\n1,x', '"name" after document 0 is not a JSON value'],
    ['1.5.2', '"1.5.2" after document 0 is not a JSON value'],
    ['[1', 'the text ends inside document 1, which begins 1'],
    ['["a', 'the text ends inside document 1, which begins "a'],
    ['id,name\n1,x', '"i" at character 1, after document 0, where an object should begin'],
    ['{"a":1},{"b":2}', '"," at character 8, after document 1, where an object should begin'],
    ['[{"a":1}] [', 'there is more text after the array'],
    ['{"docs":[{"a":1}]}\n{"docs":[{"a":2}]}\n', secondObject],
    ['{"rows":[{"id":"a"}],"x":"}{"}{', secondObject],
    ['{"docs":[{"a":1}],"x":{"y":"}"}', 'the text ends before the closing brace of its object'],
  ])('%s', (text, message) => {
    expect(() => split(text)).toThrow(new InputError(`The input can't be read: ${message}.`));
    expect(() => split(text, 'auto', 1)).toThrow(new InputError(`The input can't be read: ${message}.`));
  });
});

describe('input in pieces of any size', () => {
  const object = fc
    .oneof(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()), fc.jsonValue())
    .map((value) => JSON.stringify(value));
  const layouts = fc.constantFrom(
    (documents: string[]) => `[${documents.join(', ')}]`,
    (documents: string[]) => documents.map((document) => `${document}\n`).join(''),
    (documents: string[]) => `{"total_rows":${documents.length},"rows":[\r\n${documents.join(',\r\n')}\r\n]}\n`,
  );

  test('has every document as it was written', () => {
    fc.assert(
      fc.property(fc.array(object), layouts, fc.integer({ min: 1, max: 6000 }), (documents, layout, pieceLength) => {
        // A document {"docs":[…]} alone on its line is the one thing that can be taken for something else.
        fc.pre(!documents[0]?.startsWith('{"docs"') && !documents[0]?.startsWith('{"rows"'));
        // Nor can an array that comes first on its line.
        fc.pre(!(documents[0]?.startsWith('[') && !layout(['x']).startsWith('[') && !layout(['x']).startsWith('{')));
        expect(split(layout(documents), 'auto', pieceLength)).toEqual(documents);
      }),
    );
  });
});
