import { expect, test } from 'vitest';
import { fitsUtf8, utf8Length } from '../../../src/shared/utf8.ts';

test.each(['', 'plain', 'é', 'ß€', '€uro', '😀', 'a😀é€\u0000'])('the length of %j is that of its bytes', (text) => {
  const { length } = new TextEncoder().encode(text);
  expect(utf8Length(text)).toBe(length);
  expect(fitsUtf8(text, length)).toBe(true);
  if (length > 0) expect(fitsUtf8(text, length - 1)).toBe(false);
});
