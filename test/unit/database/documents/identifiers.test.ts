import { describe, expect, test } from 'vitest';
import { isDesignId, isLocalId, parseDocId } from '../../../../src/database/documents/identifiers.ts';

function reasonFor(value: unknown): string {
  try {
    parseDocId(value);
  } catch (error) {
    return String(error);
  }
  return 'accepted';
}

describe('a document id', () => {
  test.each(['a', ' ', 'a/b+c%20"d', 'ünïcode 😀', '\u0000', '_design/x', '_design/a/b', '_local/x', '_local/a/b'])(
    'can be %j',
    (id) => expect(parseDocId(id)).toBe(id),
  );

  test.each([
    [undefined, 'bad_request: Document id must be a string'],
    [null, 'bad_request: Document id must be a string'],
    [5, 'bad_request: Document id must be a string'],
    [{}, 'bad_request: Document id must be a string'],
    ['', 'bad_request: Document id must not be empty'],
    ['a\ud800', 'bad_request: Document id must be valid UTF-8'],
    ['\udc00\ud800', 'bad_request: Document id must be valid UTF-8'],
    ['_design/\udfff', 'bad_request: Document id must be valid UTF-8'],
    ['_', 'bad_request: Only reserved document ids may start with underscore.'],
    ['_x', 'bad_request: Only reserved document ids may start with underscore.'],
    ['_design', 'bad_request: Only reserved document ids may start with underscore.'],
    ['_design/', 'bad_request: Only reserved document ids may start with underscore.'],
    ['_designs/x', 'bad_request: Only reserved document ids may start with underscore.'],
    ['_local', 'bad_request: Invalid _local document id.'],
    ['_local/', 'bad_request: Invalid _local document id.'],
    ['_locals', 'bad_request: Only reserved document ids may start with underscore.'],
  ])("can't be %j", (value, reason) => expect(reasonFor(value)).toBe(`DatabaseError: ${reason}`));

  test.each(['i'.repeat(8_192), 'é'.repeat(4_096), '😀'.repeat(2_048), `_local/${'i'.repeat(8_185)}`])(
    'can have 8,192 bytes: %#',
    (id) => expect(parseDocId(id)).toBe(id),
  );

  test.each(['i'.repeat(8_193), 'é'.repeat(4_097), `${'😀'.repeat(2_048)}i`, `_local/${'i'.repeat(8_186)}`])(
    "can't have 8,193 bytes: %#",
    (id) => {
      const reason = 'Document id is longer than 8192 bytes. Save the document under a shorter id.';
      expect(reasonFor(id)).toBe(`DatabaseError: bad_request: ${reason}`);
    },
  );

  test('has the right kind', () => {
    expect(isDesignId('_design/a')).toBe(true);
    expect(isDesignId('design/a')).toBe(false);
    expect(isLocalId('_local/a')).toBe(true);
    expect(isLocalId('_design/_local/')).toBe(false);
  });
});
