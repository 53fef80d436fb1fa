import { describe, expect, test } from 'vitest';
import { memberText, withIdFrom } from '../../../../src/node/transfer/document-text.ts';

describe('memberText', () => {
  test('returns a value as it was written', () => {
    const text = '{ "id":"a", "doc" : {"n": 1.00000000000000000001, "s":"\\u00e9}"} , "x":[] }';
    expect(memberText(text, 'doc')).toBe('{"n": 1.00000000000000000001, "s":"\\u00e9}"}');
    expect(memberText(text, 'x')).toBe('[]');
    expect(memberText(text, 'n')).toBe(undefined);
  });

  test('returns the last of several, like JSON.parse', () => {
    expect(memberText('{"a":1,"\\u0061":2}', 'a')).toBe('2');
  });

  test('throws on broken JSON', () => {
    expect(() => memberText('{"a" 1}', 'a')).toThrow(SyntaxError);
    expect(() => memberText('{]}', 'a')).toThrow(SyntaxError);
  });
});

describe('withIdFrom', () => {
  test('puts the _id first and leaves the rest unchanged', () => {
    expect(withIdFrom(' { "cca3": "AU\\"T", "area": 83871.0 }', 'cca3')).toBe(
      '{"_id":"AU\\"T", "cca3": "AU\\"T", "area": 83871.0 }',
    );
  });

  test('keeps an existing _id', () => {
    expect(withIdFrom('{"_id":"x","cca3":"AUT"}', 'cca3')).toBe('{"_id":"x","cca3":"AUT"}');
  });

  test.each([
    ['{"a":1}', 'cca3', 'not there'],
    ['{"a":1}', 'a', '1'],
    ['{"a":""}', 'a', '""'],
  ])('refuses %s with %s', (text, member, value) => {
    expect(() => withIdFrom(text, member)).toThrow(`its member "${member}", which should become the _id, is ${value}`);
  });
});
