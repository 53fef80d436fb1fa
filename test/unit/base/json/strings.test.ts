import { describe, expect, test } from 'vitest';
import { stringEnd, stringValue } from '../../../../src/base/json/strings.ts';

describe('the value of a string', () => {
  test('has its escapes resolved', () => {
    expect(stringValue('"_id"')).toBe('_id');
    expect(stringValue('"\\u005fid"')).toBe('_id');
    expect(stringValue('"\\"\\\\"')).toBe('"\\');
    expect(stringValue('""')).toBe('');
  });
});

describe('the end of a string', () => {
  test.each(['""', '"a"', '"\\""', '"\\\\"', '"a\\\\\\"b"'])('is found: %s', (string) => {
    expect(stringEnd(`[${string}, "b"]`, 1)).toBe(string.length + 1);
  });

  test('that is missing is an error', () => {
    expect(() => stringEnd('["a', 1)).toThrow(SyntaxError);
    expect(() => stringEnd('["a\\"', 1)).toThrow(SyntaxError);
  });
});
