import { describe, expect, test } from 'vitest';
import { fieldOf, parseFieldPath } from '../../../../src/queries/find/selectors/field-path.ts';
import { FieldTexts, Projection } from '../../../../src/queries/find/selectors/field-texts.ts';

const text =
  '{"_id":"x","a":1.50,"b":{"c":[10,{"d":"\\u00e4"},[]],"e":{}},"a.b":true,"n":null,"":0,"b2":"{\\"c\\":1}"}';

function textsOf(paths: readonly string[], document = text): (string | undefined)[] {
  return new FieldTexts(paths.map(parseFieldPath)).of(document);
}

describe('the texts of fields', () => {
  test('are their texts as they were written', () => {
    expect(textsOf(['a', 'b.c', 'b.c.0', 'b.c.1.d', 'b.e', 'a\\.b', 'n', '_id'])).toEqual([
      '1.50',
      '[10,{"d":"\\u00e4"},[]]',
      '10',
      '"\\u00e4"',
      '{}',
      'true',
      'null',
      '"x"',
    ]);
  });

  test('are undefined if the path leads nowhere', () => {
    const paths = [
      'c',
      'a.b',
      'b.c.3',
      'b.c.d',
      'b.c.01',
      'b.c.-1',
      'n.x',
      'b2.c',
      'b.c.2.0',
      'toString',
      'b.constructor',
    ];
    expect(textsOf(paths)).toEqual(paths.map(() => undefined));
  });

  test('are those of the last member with a name, as for JSON.parse', () => {
    const twice = '{"a":{"b":1,"c":2},"x":{"b":1,"b":[3]},"a":{"b":4}}';
    expect(textsOf(['a.b', 'a.c', 'x.b', 'x.b.0'], twice)).toEqual(['4', undefined, '[3]', '3']);
    expect(textsOf(['a.b'], '{"a":{"b":1},"a":5}')).toEqual([undefined]);
  });

  test('are found in steps in a long text', () => {
    const numbers = Array.from({ length: 100_000 }, (_, n) => n);
    const members = Object.fromEntries(numbers.map((n) => [`m${n}`, n % 2 === 0 ? n : { n: ['}', '"', n] }]));
    const long = JSON.stringify({ numbers, members, z: 'end' });
    const paths = ['z', 'numbers.99999', 'members.m3.n.2', 'members.m4', 'numbers', 'none'];
    const found = new FieldTexts(paths.map(parseFieldPath)).inSteps(long);
    let steps = 0;
    let step = found.next();
    for (; step.done !== true; step = found.next()) steps += 1;
    expect(steps).toBeGreaterThan(long.length / 200_000);
    const values = step.value.map((one) => (one === undefined ? undefined : JSON.parse(one)));
    expect(values).toEqual(['end', 99_999, 3, 4, numbers, undefined]);
  });

  test('are found under escaped names', () => {
    expect(textsOf(['a', 'ä'], '{"\\u0061":1,"\\u00e4":2}')).toEqual(['1', '2']);
  });

  test('are the same as those of the parsed value', () => {
    const value: unknown = JSON.parse(text);
    for (const path of ['a', 'b.c.1.d', 'b.c.9', 'b.e', 'a\\.b', 'n', 'b2.c', 'b.c.length', 'a.toFixed']) {
      const [found] = textsOf([path]);
      expect(found === undefined ? undefined : JSON.parse(found), path).toEqual(fieldOf(value, parseFieldPath(path)));
    }
  });
});

describe('a projection', () => {
  const project = (paths: readonly string[]) => new Projection(paths.map(parseFieldPath)).of(text);

  test('puts fields into their nested objects', () => {
    expect(project(['b.e', '_id', 'b.c.1.d'])).toBe('{"b":{"e":{},"c":{"1":{"d":"\\u00e4"}}},"_id":"x"}');
    expect(project(['a', 'a'])).toBe('{"a":1.50}');
    expect(project(['b', 'b.e'])).toBe('{"b":{"c":[10,{"d":"\\u00e4"},[]],"e":{}}}');
    expect(project(['a\\.b'])).toBe('{"a.b":true}');
  });

  test('leaves out absent fields', () => {
    expect(project(['b.x', 'y.z', 'n'])).toBe('{"n":null}');
    expect(project(['y'])).toBe('{}');
  });
});
