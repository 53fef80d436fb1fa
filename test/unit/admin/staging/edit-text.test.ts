import { describe, expect, test } from 'vitest';
import { isSameText, problemOf } from '../../../../src/admin/staging/edit-text.ts';

describe('what is typed as a document', () => {
  test('is the same as before if only white space differs', () => {
    const stored = '{\n  "_id": "a",\n  "n": 1\n}';
    expect(isSameText('{"n":1}', stored)).toBe(true);
    expect(isSameText('{\n\n  "_id": "a",\n  "n": 1\n}', stored)).toBe(true);
    expect(isSameText(stored, stored)).toBe(true);
  });

  test('is another document if a value or the order of its members differs', () => {
    expect(isSameText('{"n":2}', '{"n":1}')).toBe(false);
    expect(isSameText('{"a":1,"n":1}', '{"n":1,"a":1}')).toBe(false);
    expect(isSameText('{"n":"a b"}', '{"n":"a  b"}')).toBe(false);
  });

  test('is another document if a number has other digits, which JavaScript does not see', () => {
    expect(isSameText('{"n":1.0}', '{"n":1}')).toBe(false);
    expect(isSameText('{"n":12345678901234567890}', '{"n":12345678901234567891}')).toBe(false);
    expect(isSameText('{ "n" : 1.0 }', '{"n":1.0}')).toBe(true);
  });

  test('is a change while it is not JSON, when it is new, and when it is deleted', () => {
    expect(isSameText('{"n":', '{"n":1}')).toBe(false);
    expect(isSameText(undefined, '{}')).toBe(false);
    expect(isSameText('{}', undefined)).toBe(false);
  });

  test('can not be stored if it is no document of that id', () => {
    expect(problemOf('{"n": 1}', 'a')).toBe(undefined);
    expect(problemOf('{"_id": "a", "_attachments": {}}', 'a')).toBe(undefined);
    expect(problemOf('{"n": 1', 'a')).toContain('This is not JSON');
    expect(problemOf('[]', 'a')).toBe('A document must be a JSON object.');
    expect(problemOf('{"_id": "b"}', 'a')).toBe("The id of a stored document can't be changed: it is a.");
  });

  test('can not have reserved names, which would fail the request for all documents', () => {
    expect(problemOf('{"_colour": "red"}', 'a')).toBe(
      '_colour is not a name for a member: those that begin with _ are reserved.',
    );
    expect(problemOf('{"_colour": "blue"}', 'a', '{"_colour": "red"}')).toBe(undefined);
  });
});
