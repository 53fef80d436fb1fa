import { expect, test } from 'vitest';
import { formatBytes } from '../../../../src/node/terminal/format-bytes.ts';

test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [999, '999 bytes'],
  [1000, '1.0 kB'],
  [999_949, '999.9 kB'],
  [999_950, '1.0 MB'],
  [20_100_000, '20.1 MB'],
  [4_294_967_296, '4.3 GB'],
  [5e15, '5000.0 TB'],
])('%i bytes are shown as %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});
