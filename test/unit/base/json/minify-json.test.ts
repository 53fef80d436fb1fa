import { describe, expect, test } from 'vitest';
import { minify } from '../../../../src/base/json/minify-json.ts';

describe('minifying', () => {
  test('drops white space outside of strings only', () => {
    expect(minify(' {\n "a b" : [ 1 ,\t" \\" x " ] ,\r\n"c":-1.0 } ')).toBe('{"a b":[1," \\" x "],"c":-1.0}');
  });
  test('works within a range', () => {
    expect(minify('[ 1, { "a": 2 } ]', 5, 15)).toBe('{"a":2}');
    expect(minify('[1,{"a":2}]', 3, 10)).toBe('{"a":2}');
  });
  test('changes nothing if there is no white space', () => expect(minify('{"a b":[1," "]}')).toBe('{"a b":[1," "]}'));
});
