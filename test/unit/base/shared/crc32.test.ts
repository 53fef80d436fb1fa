import { crc32 as zlibCrc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { crc32 } from '../../../../src/base/shared/crc32.ts';

describe('crc32', () => {
  test('is that of zlib for bytes of all lengths', () => {
    const bytes = fc.uint8Array({ maxLength: 100 });
    fc.assert(fc.property(bytes, (data) => void expect(crc32(data)).toBe(zlibCrc32(data))));
  });

  test('is that of zlib for texts', () => {
    const text = fc.string({ unit: 'binary', maxLength: 100 });
    fc.assert(fc.property(text, (data) => void expect(crc32(data)).toBe(zlibCrc32(data))));
  });

  test('goes on from a start', () => {
    expect(crc32('89', crc32('1234567'))).toBe(0xcbf43926);
    for (const start of [1, 2 ** 31, 2 ** 32 - 1]) {
      expect(crc32('123456789', start)).toBe(zlibCrc32('123456789', start));
      expect(crc32('', start)).toBe(start);
    }
  });
});

test('the checksum is that of zlib', () => {
  // ITU-T V.42; the value for "123456789" is the one that descriptions of CRC-32 check themselves by.
  expect(crc32(new TextEncoder().encode('123456789'))).toBe(0xcbf43926);
  expect(crc32(new Uint8Array(0))).toBe(0);
});
