import { describe, expect, test } from 'vitest';
import { JsonCursor } from '../../../../src/base/json/json-cursor.ts';
import { minify } from '../../../../src/base/json/white-space.ts';
import { timesSlower } from '../../../support/fastest.ts';

/** [name, value] texts of the object's members, and what follows it. */
function membersOf(text: string): [members: [name: string, value: string][], rest: string] {
  const cursor = new JsonCursor(text);
  const members: [string, string][] = [];
  cursor.enter();
  while (cursor.nextMember()) {
    members.push([text.slice(cursor.keyStart, cursor.keyEnd), text.slice(cursor.valueStart, cursor.valueEnd)]);
  }
  return [members, text.slice(cursor.position)];
}

function elementsOf(text: string): [elements: string[], rest: string] {
  const cursor = new JsonCursor(text);
  const elements: string[] = [];
  cursor.enter();
  while (cursor.nextElement()) elements.push(text.slice(cursor.valueStart, cursor.valueEnd));
  return [elements, text.slice(cursor.position)];
}

/** The texts of the members' or elements' values, and how often the walk over them yields. */
function valuesInSteps(text: string): [values: string[], steps: number] {
  const cursor = new JsonCursor(text);
  const values: string[] = [];
  let steps = 0;
  const next = () => {
    const walk = text.startsWith('{') ? cursor.nextMemberInSteps() : cursor.nextElementInSteps();
    for (;;) {
      const { done, value } = walk.next();
      if (done === true) return value;
      steps++;
    }
  };
  cursor.enter();
  while (next()) values.push(cursor.valueText);
  return [values, steps];
}

describe('a cursor', () => {
  test('goes over long values, and over many short ones, in steps', () => {
    const list = `[${'1,'.repeat(150_000)}1]`;
    expect(valuesInSteps(`{"a":${list},"b":2}`)).toEqual([[list, '2'], 4]);
    expect(valuesInSteps(`[${list},${list}]`)).toEqual([[list, list], 9]);
    const [values, steps] = valuesInSteps(list);
    expect([values.length, steps]).toEqual([150_001, 4]);
  });

  test('goes over short texts in one step', () => {
    expect(valuesInSteps('{"a":[1],"b":{}}')).toEqual([['[1]', '{}'], 0]);
    expect(valuesInSteps('[1,[2]]')).toEqual([['1', '[2]'], 0]);
    expect(valuesInSteps('{}')).toEqual([[], 0]);
  });

  test('finds the members of an object', () => {
    expect(membersOf('{"a":1,"b":"x","c":{"d":[]},"e":[{}],"f":null}!')).toEqual([
      [
        ['"a"', '1'],
        ['"b"', '"x"'],
        ['"c"', '{"d":[]}'],
        ['"e"', '[{}]'],
        ['"f"', 'null'],
      ],
      '!',
    ]);
    expect(membersOf('{}!')).toEqual([[], '!']);
  });

  test('finds the elements of an array', () => {
    expect(elementsOf('[1,-2.5e+3,"",[],{},true,[[1],2]]!')).toEqual([
      ['1', '-2.5e+3', '""', '[]', '{}', 'true', '[[1],2]'],
      '!',
    ]);
    expect(elementsOf('[]!')).toEqual([[], '!']);
  });

  test('skips white space, and reports that there was some', () => {
    const text = ' \r\n{\t"a" : 1 ,\n "b":\t[ 1 , 2 ]\n} ';
    expect(membersOf(text)).toEqual([
      [
        ['"a"', '1'],
        ['"b"', '[ 1 , 2 ]'],
      ],
      ' ',
    ]);
    expect(elementsOf('[ 1\n,\t"a b" ]')[0]).toEqual(['1', '"a b"']);
    expect(membersOf('{ }')[0]).toEqual([]);
    expect(elementsOf(' [ ]')[0]).toEqual([]);
  });

  test.each([
    ['{"a":" x ","b":["\\t "]}', false],
    ['{"a":1 }', true],
    ['{"a": 1}', true],
    ['{"a" :1}', true],
    ['{ "a":1}', true],
    ['{"a":1,\n"b":2}', true],
    ['{"a":{"b":[1, 2]}}', true],
    ['{"a":[1\t]}', true],
  ])('reports whether %j has white space outside of strings', (text, expected) => {
    const cursor = new JsonCursor(text);
    cursor.enter();
    while (cursor.nextMember());
    expect(cursor.sawSpace).toBe(expected);
  });

  test('finds the end of strings', () => {
    expect(elementsOf(String.raw`["\"","\\","\\\"","\\\\\"]","a]\"[","{\u0022"]`)[0]).toEqual([
      String.raw`"\""`,
      String.raw`"\\"`,
      String.raw`"\\\""`,
      String.raw`"\\\\\"]"`,
      String.raw`"a]\"["`,
      String.raw`"{\u0022"`,
    ]);
    expect(membersOf(String.raw`{"\"}":"}\\","\\":{"{\"":"\\\\"}}`)[0]).toEqual([
      [String.raw`"\"}"`, String.raw`"}\\"`],
      [String.raw`"\\"`, String.raw`{"{\"":"\\\\"}`],
    ]);
  });

  test('walks into values', () => {
    const text = '{"a":[{"b":1},{"c":2}],"d":3}';
    const cursor = new JsonCursor(text);
    const names: string[] = [];
    cursor.enter();
    expect(cursor.nextName()).toBe(true);
    cursor.enter();
    while (cursor.nextElementStart()) {
      cursor.enter();
      while (cursor.nextMember()) names.push(text.slice(cursor.keyStart, cursor.keyEnd));
    }
    expect(names).toEqual(['"b"', '"c"']);
    expect(cursor.nextMember()).toBe(true);
    expect(text.slice(cursor.valueStart, cursor.valueEnd)).toBe('3');
    expect(cursor.nextMember()).toBe(false);
  });

  test('is not stopped by depth', () => {
    const deep = `${'[{"a":'.repeat(100_000)}1${'}]'.repeat(100_000)}`;
    expect(membersOf(`{"deep":${deep},"b":2}`)[0]).toEqual([
      ['"deep"', deep],
      ['"b"', '2'],
    ]);
    expect(minify(`${' ['.repeat(100_000)}${' ]'.repeat(100_000)}`)).toBe('['.repeat(100_000) + ']'.repeat(100_000));
  });

  test('takes no longer than linear for strings full of escapes', () => {
    const text = JSON.stringify(['\\"'.repeat(500_000), '\\'.repeat(500_000)]);
    const slowness = timesSlower(
      () => expect(elementsOf(text)[0]).toHaveLength(2),
      () => JSON.parse(text),
    );
    expect(slowness).toBeLessThan(1_000);
  });
});

describe('a text that ends too early', () => {
  test.each([
    '',
    '{',
    '{"',
    '{"a',
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1,',
    '{"a":"',
    '{"a":"\\"',
    '{"a":[',
    '{"a":[{"b":"]}"}',
  ])('never makes a walk endless: %s', (text) => {
    expect(() => {
      const cursor = new JsonCursor(text);
      cursor.enter();
      while (cursor.nextMember());
    }).toThrow(SyntaxError);
  });

  test.each(['[', '[1', '[1,', '["', '[[', '[{"a":1}'])('never makes a walk through a list endless: %s', (text) => {
    expect(() => {
      const cursor = new JsonCursor(text);
      cursor.enter();
      while (cursor.nextElement());
    }).toThrow(SyntaxError);
  });
});
