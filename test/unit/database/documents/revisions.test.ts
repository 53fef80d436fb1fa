import { describe, expect, test } from 'vitest';
import {
  compareRevisions,
  isLocalRev,
  parseRevId,
  toRevId,
  toRevision,
} from '../../../../src/database/documents/revisions/revisions.ts';

describe('a revision id', () => {
  test.each(['1-967a00dff5e02add41819138abb3284d', '12-x', '9007199254740991-a', '1-a-b', '1--', '1- ', '3-ü😀"\\'])(
    'may be %j',
    (rev) => expect(parseRevId(rev)).toBe(rev),
  );

  test('has no leading zeros, so that equal revisions are equal texts', () => {
    expect(parseRevId('0012-ab')).toBe('12-ab');
  });

  test.each([
    undefined,
    null,
    1,
    '',
    '-',
    '1',
    '1-',
    '-a',
    'a-1',
    '1a-b',
    ' 1-a',
    '-1-a',
    '+1-a',
    '1.5-a',
    '1e3-a',
    '0-1',
    '00-a',
    '9007199254740992-a',
    '99999999999999999999-a',
    '1-a\tb',
    '1-a\n',
    '1-\u0000',
    '1-\ud800',
  ])('can not be %j', (value) => {
    expect(() => parseRevId(value)).toThrow('bad_request: Invalid rev format');
  });

  test('has a hash of at most 128 characters', () => {
    expect(parseRevId(`1-${'a'.repeat(128)}`)).toHaveLength(130);
    expect(() => parseRevId(`1-${'a'.repeat(129)}`)).toThrow(
      'bad_request: Invalid rev format: the hash has 129 characters, more than 128. Send the revision exactly as the database returned it.',
    );
  });

  test('of a local document counts from 0-1', () => {
    expect(isLocalRev('0-1')).toBe(true);
    expect(isLocalRev('0-0')).toBe(true);
    expect(isLocalRev('0-')).toBe(false);
    expect(isLocalRev('0-a')).toBe(false);
    expect(isLocalRev('1-1')).toBe(false);
    expect(isLocalRev('00-1')).toBe(false);
  });

  test('splits at the first hyphen', () => {
    expect(toRevision(parseRevId('12-a-b'))).toEqual({ generation: 12, hash: 'a-b' });
    expect(toRevId(12, 'a-b')).toBe('12-a-b');
  });
});

describe('revisions compare', () => {
  const order = (left: string, right: string) =>
    Math.sign(compareRevisions(toRevision(parseRevId(left)), toRevision(parseRevId(right))));

  test('by generation as a number', () => {
    expect(order('9-z', '10-a')).toBe(-1);
    expect(order('10-a', '9-z')).toBe(1);
  });

  test('then by hash as text', () => {
    expect(order('2-a', '2-b')).toBe(-1);
    expect(order('2-b', '2-a')).toBe(1);
    expect(order('2-9', '2-10')).toBe(1);
    expect(order('2-a', '2-ab')).toBe(-1);
    expect(order('2-a', '2-a')).toBe(0);
  });
});
