import { describe, expect, test } from 'vitest';
import {
  alternativesOf,
  type Choice,
  comparedFields,
  lostValues,
  mergedTree,
  ownProblem,
  threeWay,
  type Version,
} from '../../../../src/admin/document/conflict/merge.ts';
import { parseJson } from '../../../../src/admin/json/json-tree.ts';
import { printCompact } from '../../../../src/admin/json/print-json.ts';

const version = (key: string, text: string): Version => ({ key, label: key, tree: parseJson(text) });
const chosen = (choices: Readonly<Record<string, Choice>>) => new Map(Object.entries(choices));

const three = [
  version('w', '{"_id":"x","place":"A","n":1.0,"kept":true,"_attachments":{"a.png":{"stub":true}}}'),
  version('b', '{"_id":"x","place":"B","n":1.0,"kept":true,"extra":[1]}'),
  version('c', '{"_id":"x","place":"B","n":1,"kept":true}'),
];

describe('versions of a document', () => {
  test('are compared digit by digit, without their ids and attachments', () => {
    expect(comparedFields(three)).toEqual({ different: ['place', 'n', 'extra'], same: ['kept'] });
  });

  test('with the same value of a field are one alternative', () => {
    const found = alternativesOf(three, 'place').map(
      ({ text, versions }) => `${text}: ${versions.map(({ key }) => key)}`,
    );
    expect(found).toEqual(['"A": w', '"B": b,c']);
    expect(alternativesOf(three, 'extra').map(({ text }) => text)).toEqual([undefined, '[1]']);
  });

  test('become the first one where nothing is chosen, with its attachments', () => {
    expect(printCompact(mergedTree(three, new Map()))).toBe(
      '{"_id":"x","place":"A","n":1.0,"kept":true,"_attachments":{"a.png":{"stub":true}}}',
    );
  });

  test('become one by a choice for each field', () => {
    const choices = chosen({ place: { from: 'c' }, n: { own: '12345678901234567890' }, extra: { from: 'b' } });
    expect(printCompact(mergedTree(three, choices))).toBe(
      '{"_id":"x","place":"B","n":12345678901234567890,"kept":true,"_attachments":{"a.png":{"stub":true}},"extra":[1]}',
    );
    const lost = lostValues(three, choices).map(
      ({ name, text, versions }) => `${name} ${text} ${versions.map(({ key }) => key)}`,
    );
    expect(lost).toEqual(['place "A" w', 'n 1.0 w,b', 'n 1 c']);
  });

  test('lose a field where the version without it is chosen, or nothing is typed', () => {
    const two = [version('w', '{"a":1,"b":2}'), version('x', '{}')];
    expect(printCompact(mergedTree(two, chosen({ a: { from: 'x' }, b: { own: ' ' } })))).toBe('{}');
  });

  test('are not merged with what is not JSON', () => {
    expect(ownProblem({ own: '[1,' })).toBe('This is not JSON: line 1, column 4: the text ends here.');
    expect(ownProblem({ own: '' })).toBeUndefined();
    expect(() => mergedTree(three, chosen({ n: { own: 'x' } }))).toThrow('a value is missing');
  });

  test('of an edit and of what somebody else stored: each field from where it was changed', () => {
    const base = parseJson('{"a":1,"b":1,"c":1,"d":1}');
    const mine = version('mine', '{"a":2,"b":1,"c":2,"d":1,"e":5}');
    const theirs = version('theirs', '{"a":1,"b":3,"c":3}');
    const { choices, contested } = threeWay(base, mine, theirs);
    expect(contested).toEqual(['c']);
    expect(printCompact(mergedTree([mine, theirs], choices))).toBe('{"a":2,"b":3,"c":2,"e":5}');
  });
});
