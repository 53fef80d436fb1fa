import { createHash } from 'node:crypto';

/** Bytes of a name; file systems take 255, and some encrypted ones less. */
const longestName = 140;
/** Names that Windows reserves for devices, whatever follows after a dot. */
const deviceName = /^(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/;

/**
 * The name of the file, or folder, for any text that is well-formed Unicode: different ones for different texts, even on file systems that
 * do not distinguish case, that change the form of Unicode, or that reserve names for devices. It is never `.` or `..`,
 * has no separators, and begins with `~` only if it is a hash.
 *
 * - Letters without accents, digits, `_`, `-`, and dots inside stay. Everything else becomes `%` and two hexadecimal digits per byte of UTF-8.
 * - If there are capital letters, a number and `~` come before: in base 16, with a bit for each letter, 1 for a capital.
 * - A name that would be longer than 140 bytes is `~` and the SHA-256 of the text.
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

/** Each letter is one bit, so texts that differ only in case have different numbers. */
function capitals(text: string): string {
  const bits = Array.from(text.matchAll(/[a-zA-Z]/g), ([letter]) => (letter < 'a' ? '1' : '0')).join('');
  return bits.includes('1') ? `${BigInt(`0b${bits}`).toString(16)}~` : '';
}
