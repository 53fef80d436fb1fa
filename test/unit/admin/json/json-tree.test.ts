import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  converted,
  isJsonNumber,
  moved,
  newMember,
  withEntries,
  withEntry,
} from '../../../../src/admin/json/edit-tree.ts';
import { JsonMistake, type JsonTree, memberOf, parseJson } from '../../../../src/admin/json/json-tree.ts';
import { prettyJson, printCompact, printPretty } from '../../../../src/admin/json/print-json.ts';

/** A text with the value, spelt as no program would. */
const spelling = fc.record({ value: fc.jsonValue({ maxDepth: 4 }), space: fc.constantFrom('', ' ', '\n\t', '\r\n ') });

function messageOf(text: string): string {
  try {
    parseJson(text);
    return 'it is JSON';
  } catch (error) {
    return error instanceof JsonMistake ? error.message : `${error}`;
  }
}

function childOf(tree: JsonTree, at: number): number {
  const entry = tree.kind === 'object' || tree.kind === 'array' ? tree.entries[at] : undefined;
  if (entry === undefined) throw new Error('there is no such entry');
  return entry.key;
}

describe('the JSON of the administration page', () => {
  test('is printed as JSON.stringify prints it, on one line and with indentation', () => {
    fc.assert(
      fc.property(spelling, ({ value, space }) => {
        const text = JSON.stringify(value, null, space.includes('\r') ? '  ' : space);
        expect(printCompact(parseJson(text))).toBe(JSON.stringify(value));
        expect(printPretty(parseJson(space + text + space))).toBe(JSON.stringify(value, null, 2));
      }),
    );
  });

  test('keeps digits, escapes, the order of members, and members that occur twice', () => {
    const text = '{"z":1.0,"10":12345678901234567890,"2":-0.0e+05,"z":"\\u00e9\\/","a":[1e400,{"":null}]}';
    expect(printCompact(parseJson(text))).toBe(text);
    expect(prettyJson('{"a":1.0}')).toBe('{\n  "a": 1.0\n}');
  });

  test('accepts and refuses the same texts as JSON.parse', () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '"a"',
      '1',
      '-',
      '0',
      '.',
      'e',
      'true',
      'nul',
      'null',
      '\\',
      '\n',
      ' ',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = pieces.join('');
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        expect(`${text} ${messageOf(text) === 'it is JSON'}`).toBe(`${text} ${isJson}`);
      }),
      { numRuns: 2_000 },
    );
  });

  test('says where a mistake is, and what it is', () => {
    expect(messageOf('{\n  "a" 1\n}')).toBe('line 2, column 7: a colon is missing.');
    expect(messageOf('{"a": 01}')).toBe('line 1, column 8: a comma or } is missing.');
    expect(messageOf('[1,]')).toBe('line 1, column 4: a value is missing.');
    expect(messageOf('{"a": "b')).toBe('line 1, column 9: the text ends within a string.');
    expect(messageOf('{a: 1}')).toBe('line 1, column 2: the name of a field, in double quotes, is missing.');
    expect(messageOf('"\\x"')).toBe('line 1, column 2: there is no such escape.');
    expect(messageOf('[1] 2')).toBe('line 1, column 5: the text goes on after its end.');
    expect(messageOf('['.repeat(5_000))).toContain('values are nested in more than 1000 others.');
  });
});

describe('a change of one value in JSON', () => {
  test('changes nothing else, and can be taken back', () => {
    const text = '{"n":1.0,"list":[1e2,{"x":"\\u0041"}],"last":false}';
    const tree = parseJson(text);
    const path = [childOf(tree, 0)];
    const changed = withEntry(tree, path, (entry) => ({ ...entry, value: { kind: 'number', text: '2' } }));
    expect(printCompact(changed)).toBe(text.replace('1.0', '2'));
    expect(
      printCompact(withEntry(changed, path, (entry) => ({ ...entry, value: { kind: 'number', text: '1.0' } }))),
    ).toBe(text);
  });

  test('adds, moves and removes members and items', () => {
    const tree = parseJson('{"a":1,"b":[1,2,3]}');
    const list = childOf(tree, 1);
    const items = memberOf(tree, 'b') ?? tree;
    expect(printCompact(moved(tree, [list, childOf(items, 2)], -1))).toBe('{"a":1,"b":[1,3,2]}');
    expect(printCompact(moved(tree, [list, childOf(items, 0)], -1))).toBe('{"a":1,"b":[1,2,3]}');
    expect(printCompact(withEntry(tree, [list, childOf(items, 1)], () => undefined))).toBe('{"a":1,"b":[1,3]}');
    const added = withEntries(parseJson('{"field":1}'), [], (entries) => [...entries, newMember(entries)]);
    expect(printCompact(added)).toBe('{"field":1,"field 2":""}');
  });

  test.each([
    ['"12.50"', 'number', '12.50'],
    ['"twelve"', 'number', '0'],
    ['12345678901234567890', 'string', '"12345678901234567890"'],
    ['"true"', 'boolean', 'true'],
    ['0', 'boolean', 'false'],
    ['null', 'string', '""'],
    ['{"a":1.0}', 'string', '"{\\"a\\":1.0}"'],
    ['"{\\"a\\":1.0}"', 'object', '{"a":1.0}'],
    ['"red"', 'array', '["red"]'],
    ['["x","y"]', 'object', '{"0":"x","1":"y"}'],
    ['{"a":1,"b":2}', 'array', '[1,2]'],
    ['7', 'object', '{"value":7}'],
  ] as const)('of %s to %s keeps what that type can hold: %s', (before, kind, after) => {
    expect(printCompact(converted(parseJson(before), kind))).toBe(after);
  });

  test('tells numbers of JSON from others', () => {
    expect(['0', '-1.5e-7', '1E5', '12345678901234567890'].every(isJsonNumber)).toBe(true);
    expect(['', '01', '+1', '.5', '1.', 'NaN', '0x1', '1,5', ' 1'].some(isJsonNumber)).toBe(false);
  });
});
