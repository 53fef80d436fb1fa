import { expect, test } from 'vitest';
import { LogBuffer } from '../../../../src/base/system/log-buffer.ts';

const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

test('the latest entries are kept, and the oldest are forgotten first', () => {
  const buffer = new LogBuffer();
  for (let number = 0; number < 200_000; number++) buffer.write(`entry ${number}`);
  const text = textOf(buffer.read(1_000_000_000, 0));
  expect(text.endsWith('entry 199998\nentry 199999\n')).toBe(true);
  expect(text).not.toContain('entry 0\n');
  expect(text.length).toBeLessThanOrEqual(1_048_576);
  expect(text.length).toBeGreaterThan(524_288);
});

test('of an entry that is too long the end is kept', () => {
  const buffer = new LogBuffer();
  buffer.write('before');
  buffer.write(`${'x'.repeat(3_000_000)}end`);
  const text = textOf(buffer.read(1_000_000_000, 0));
  expect(text.endsWith('xend\n')).toBe(true);
  expect(text.length).toBe(7 + 524_289);
});

test('a range is read counted from the end', () => {
  const buffer = new LogBuffer();
  buffer.write('abc');
  buffer.write('def');
  expect(textOf(buffer.read(3, 1))).toBe('def');
  expect(textOf(buffer.read(4, 4))).toBe('abc\n');
  expect(textOf(buffer.read(100, 4))).toBe('abc\n');
  expect(textOf(buffer.read(100, 8))).toBe('');
  expect(textOf(buffer.read(100, 80))).toBe('');
});

test('entries of clients displace only each other, and stay in order among the others', () => {
  const buffer = new LogBuffer();
  buffer.write('own 1');
  buffer.write('first', true);
  buffer.write('own 2');
  expect(textOf(buffer.read(100, 0))).toBe('own 1\nfirst\nown 2\n');
  for (let number = 0; number < 200_000; number++) buffer.write(`entry ${number}`, true);
  buffer.write('own 3');
  const text = textOf(buffer.read(1_000_000_000, 0));
  expect(text.startsWith('own 1\nown 2\nentry ')).toBe(true);
  expect(text.endsWith('entry 199999\nown 3\n')).toBe(true);
  expect(text.length).toBeLessThanOrEqual(262_144 + 100);
});
