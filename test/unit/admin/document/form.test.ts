import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  formContentOf,
  numberProblem,
  problemsOf,
  roundedNumber,
} from '../../../../src/admin/document/form/field-problems.ts';
import { idCandidates } from '../../../../src/admin/document/id-candidates.ts';
import { type Path, withEntry } from '../../../../src/admin/json/edit-tree.ts';
import { isContainer, type JsonTree, parseJson } from '../../../../src/admin/json/json-tree.ts';
import { printCompact, printPretty } from '../../../../src/admin/json/print-json.ts';

/** Texts of objects, with numbers and strings as no program in JavaScript spells them. */
const { object } = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom('1.0', '-0.0', '1E+05', '12345678901234567890', 'true', 'null', '"\\u0041\\/"', '"plain"', '""'),
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items}]`),
  object: fc
    .uniqueArray(fc.constantFrom('a', '10', '2', '', '\\u0062', 'c d'), { maxLength: 4 })
    .chain((names) => fc.tuple(...names.map((name) => tie('value').map((value) => `"${name}":${value}`))))
    .map((members) => `{${members}}`),
}));

/** The ways to all values in a tree. */
function pathsIn(tree: JsonTree): readonly Path[] {
  if (!isContainer(tree)) return [];
  return tree.entries.flatMap(({ key, value }) => [[key], ...pathsIn(value).map((path) => [key, ...path])]);
}

describe('the form of a document', () => {
  test('leaves every other character of the source when one value is changed, and all when it is changed back', () => {
    fc.assert(
      fc.property(object, fc.nat(), (text, number) => {
        const { tree } = formContentOf(text);
        if (tree === undefined) throw new Error('there is no form');
        expect(printCompact(tree)).toBe(text);
        expect(printCompact(parseJson(printPretty(tree)))).toBe(text);
        const paths = pathsIn(tree);
        const path = paths[number % Math.max(1, paths.length)];
        if (path === undefined) return;
        let former: JsonTree | undefined;
        const changed = withEntry(tree, path, (entry) => {
          former = entry.value;
          return { ...entry, value: { kind: 'string', text: '"<here>"' } };
        });
        const [before, after] = printCompact(changed).split('"<here>"');
        expect(text).toBe(`${before}${printCompact(former ?? tree)}${after}`);
        const back = withEntry(changed, path, (entry) => ({ ...entry, value: former ?? entry.value }));
        expect(printCompact(back)).toBe(text);
      }),
    );
  });

  test('is there for what it can show as it is, and says why not otherwise', () => {
    expect(formContentOf('{"a": 1.0, "b": {"a": 2}}').why).toBeUndefined();
    expect(formContentOf('{"a": 1, "b": [{"x": 1, "x": 2}]}').why).toContain('The field x occurs twice');
    expect(formContentOf('{"a": 1, "\\u0061": 2}').why).toContain('The field a occurs twice');
    expect(formContentOf('{"a": ').why).toBe('The source is not JSON: line 1, column 7: the text ends here.');
    expect(formContentOf('[]').why).toBe('A document must be a JSON object.');
    expect(formContentOf(`{"a": "${'x'.repeat(2_000_000)}"}`).why).toBe('The document is too long for a form.');
  });

  test('says what is wrong beside the field', () => {
    const tree = parseJson('{"_id": "x", "_colour": 1, "a": {"_fine": 1}, "n": 1e400, "b": 1, "b": 2}');
    const found = [...problemsOf(tree).values()];
    expect(found).toEqual([
      { name: 'Names that begin with _ are reserved.', value: undefined },
      { name: undefined, value: 'This number is beyond what programs can read: 1.8e308 at most.' },
      { name: 'Another field of this object has the same name.', value: undefined },
      { name: 'Another field of this object has the same name.', value: undefined },
    ]);
  });

  test.each([
    ['1.50', undefined],
    ['-0', undefined],
    ['', 'A number is missing.'],
    ['1,5', 'This is not a number in JSON: write 1.5.'],
    ['.5', 'This is not a number in JSON: write 0.5.'],
    ['007', 'This is not a number in JSON: write 7.'],
    ['+1', 'This is not a number in JSON: write 1.'],
    ['1.', 'This is not a number in JSON: write 1.'],
    ['twelve', 'This is not a number in JSON.'],
    ['1, "x": 2', 'This is not a number in JSON.'],
    ['NaN', 'JSON has no NaN. Use null, or a text.'],
    ['-Infinity', 'JSON has no -Infinity. Use null, or a text.'],
  ])('says of the number %j: %s', (text, problem) => {
    expect(numberProblem(text)).toBe(problem);
  });

  test.each([
    ['12345678901234567890', '12345678901234567000'],
    ['9007199254740993', '9007199254740992'],
    ['0.1', undefined],
    ['1.0', undefined],
    ['100', undefined],
    ['1e3', undefined],
    ['1.50e-7', undefined],
    ['0.0', undefined],
    ['-12.5', undefined],
    ['0.1234567890123456789', '0.12345678901234568'],
  ])('says what JavaScript reads of %s: %s', (text, read) => {
    expect(roundedNumber(text)).toBe(read);
  });
});

describe('strings of a document that might be ids', () => {
  test('are asked for: each once, not the document itself, no sentences, dates, numbers or addresses', () => {
    const values = [
      'emma',
      'emma',
      'own',
      'two words',
      'https://x.org/a',
      '2026-01-31',
      '12.5',
      'a',
      'org.user:bob',
      'x'.repeat(129),
      'data:image/png;base64,AA',
    ];
    expect(idCandidates(parseJson(JSON.stringify({ values, deep: { author: 'austen' } })), 'own')).toEqual([
      'emma',
      'org.user:bob',
      'austen',
    ]);
  });

  test('are 200 at most', () => {
    const values = Array.from({ length: 1_000 }, (_, number) => `id-${number}`);
    expect(idCandidates(parseJson(JSON.stringify(values)), '')).toHaveLength(200);
  });
});
