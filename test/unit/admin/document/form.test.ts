import { describe, expect, test } from 'vitest';
import {
  formContentOf,
  numberProblem,
  problemsOf,
  roundedNumber,
} from '../../../../src/admin/document/form/field-problems.ts';
import { idCandidates } from '../../../../src/admin/document/id-candidates.ts';
import { parseJson } from '../../../../src/admin/json/json-tree.ts';

describe('the form of a document', () => {
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
