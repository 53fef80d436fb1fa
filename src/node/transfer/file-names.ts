import { createHash } from 'node:crypto';

/** Bytes of a name; file systems take 255, and some encrypted ones less. */
const longestName = 140;
/** Names that Windows keeps for devices, whatever follows behind a dot. */
const deviceName = /^(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/;

/**
 * The name of the file, or folder, for any text that is well-formed Unicode: different ones for different texts, on file systems too that
 * take capital and small letters for the same, that change the form of Unicode, or that keep names for devices. It is never `.` or `..`,
 * has no separators, and `~` begins it only where it is a hash.
 *
 * - Letters without accents, digits, `_`, `-`, and dots inside stay. All else becomes `%` and two hexadecimal digits for each byte of UTF-8.
 * - Where there are capital letters, a number and `~` come before: in base 16, with a bit for each letter, 1 for a capital.
 * - What would be longer than 140 bytes is `~` and the SHA-256 of the text.
 */
export function toFileName(text: string): string {
  const name = `${capitals(text)}${escaped(text)}`;
  if (name !== '' && name.length <= longestName) return name.replace(deviceName, (device) => escapeBytes(device));
  return `~${createHash('sha256').update(text, 'utf8').digest('hex')}`;
}

function escaped(text: string): string {
  return text.replace(/[^\w.-]+|^\.|\.$/g, escapeBytes);
}

function escapeBytes(text: string): string {
  return Array.from(Buffer.from(text, 'utf8'), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}

/** As many letters give as many bits, so texts that differ in case alone have different numbers. */
function capitals(text: string): string {
  const bits = Array.from(text.matchAll(/[a-zA-Z]/g), ([letter]) => (letter < 'a' ? '1' : '0')).join('');
  return bits.includes('1') ? `${BigInt(`0b${bits}`).toString(16)}~` : '';
}
