import { crc32 } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { decodeRecords, RecordEncoder } from '../../../../src/storage/journal-record.ts';

describe('a journal record in a segment', () => {
  // The checksum was computed with Python's zlib.
  const BYTES = '4c475d15 02000000 0000000000001c40 c3a9';

  test('has checksum, length, number and text', () => {
    const bytes = Buffer.from(new RecordEncoder(crc32).encode({ number: 7, text: 'é' }));
    expect(bytes.toString('hex')).toBe(BYTES.replaceAll(' ', ''));
  });

  test('is read back whatever its text and number', () => {
    const records = ['', 'é', '🙂\n\u0000', 'x'.repeat(50_000), '中'.repeat(20_000)].map((text, index) => ({
      number: index === 0 ? Number.MAX_SAFE_INTEGER : index,
      text,
    }));
    const encoder = new RecordEncoder(crc32);
    const bytes = Buffer.concat(records.map((record) => Buffer.from(encoder.encode(record))));
    expect(decodeRecords(bytes, crc32).records).toEqual(records);
  });

  test('is not found if any single bit of it is changed, nor is a later one', () => {
    const encoder = new RecordEncoder(crc32);
    const [first, second, third] = [1, 2, 3].map((number) => Buffer.from(encoder.encode({ number, text: 'text' })));
    const bytes = Buffer.concat([must(first), must(second), must(third)]);
    const length = must(first).length;
    for (let at = length; at < 2 * length; at += 1) {
      for (let bit = 0; bit < 8; bit += 1) {
        const damaged = Buffer.from(bytes);
        damaged[at] = must(damaged[at]) ^ (1 << bit);
        expect(decodeRecords(damaged, crc32).records).toEqual([{ number: 1, text: 'text' }]);
      }
    }
  });

  test('is not found in zeros', () => {
    expect(decodeRecords(Buffer.alloc(1000), crc32).records).toEqual([]);
  });
});
