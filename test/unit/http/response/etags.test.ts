import { expect, test } from 'vitest';
import { matchesTag, tagOf } from '../../../../src/http/response/responses.ts';

test.each([
  ['"1-a"', true],
  ['"0-x", "1-a","2-b"', true],
  ['W/"1-a"', false],
  ['*', false],
  ['1-a', false],
  ['"1-A"', false],
  [undefined, false],
])('If-None-Match is compared: %s', (header, expected) => {
  expect(matchesTag(header, '"1-a"')).toBe(expected);
});

test('an ETag is the MD5 of its inputs in base 36', async () => {
  // The md5 of `["a",1]` is 58dfbc5fc8ad6f6323991df74e43bf45.
  expect(await tagOf(['a', 1])).toBe('"59ez2amqfaabncm8apjraaukl"');
  expect(await tagOf(['a', 1])).not.toBe(await tagOf(['a', 2]));
  expect(await tagOf(['a', 'b'])).not.toBe(await tagOf(['a,b']));
});
