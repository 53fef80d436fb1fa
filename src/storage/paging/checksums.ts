import type { Crc32 } from '../../base/shared/crc32.ts';
import type { CooperativeTask } from '../../base/shared/turn.ts';
import { putTogether, wholeCharactersEnd } from '../../base/shared/utf8.ts';
import type { JournalRecord, PageNumber } from '../page-store.ts';

/**
 * How checksums (CRC-32) are stored with their content.
 *
 * - A text ends with its checksum as eight hexadecimal digits, bytes end with it as four bytes, the lowest first.
 * - A head, which is a JSON object, has it as its last member, `crc`.
 * - A journal record begins with it; records of the first format have none, and begin with a brace.
 *
 * The number of a page, or of a record, is part of its checksum: content under a wrong number is detected, too.
 */

/** The most bytes that a checksum adds to a page. */
export const PAGE_OVERHEAD = 8;
/** The bytes that a checksum adds to a page of bytes. */
export const BYTES_OVERHEAD = 4;

const DIGITS = 8;
/** Number of a record's characters between two looks at the clock. */
const STEP_LENGTH = 1_048_576;
const HEAD_END = /,"crc":"([0-9a-f]{8})"\}$/;

export function addToText(crc32: Crc32, page: PageNumber, text: string): string {
  return text + toDigits(crc32(text, seedOf(page)));
}

/** Returns the text without its checksum; undefined if that is wrong. */
export function checkText(crc32: Crc32, page: PageNumber, stored: string): string | undefined {
  const end = stored.length - DIGITS;
  if (end < 0) return undefined;
  const text = stored.slice(0, end);
  return toDigits(crc32(text, seedOf(page))) === stored.slice(end) ? text : undefined;
}

export function addToBytes(crc32: Crc32, page: PageNumber, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const stored = new Uint8Array(bytes.length + BYTES_OVERHEAD);
  stored.set(bytes);
  new DataView(stored.buffer).setUint32(bytes.length, crc32(bytes, seedOf(page)), true);
  return stored;
}

/** Returns the bytes without their checksum; undefined if that is wrong. */
export function checkBytes(crc32: Crc32, page: PageNumber, stored: Uint8Array): Uint8Array | undefined {
  const end = stored.length - BYTES_OVERHEAD;
  if (end < 0) return undefined;
  const bytes = stored.subarray(0, end);
  const found = new DataView(stored.buffer, stored.byteOffset).getUint32(end, true);
  return crc32(bytes, seedOf(page)) === found ? bytes : undefined;
}

const HEX_DIGITS = /^[0-9a-f]{8}$/;

/** Returns what a page is whose checksum is right, given its bytes; undefined if no checksum in it is. */
export function kindOfPage(crc32: Crc32, page: PageNumber, stored: Uint8Array): 'text' | 'bytes' | undefined {
  const textEnd = stored.length - DIGITS;
  if (textEnd >= 0) {
    const digits = String.fromCharCode(...stored.subarray(textEnd));
    const isText = HEX_DIGITS.test(digits) && toDigits(crc32(stored.subarray(0, textEnd), seedOf(page))) === digits;
    if (isText) return 'text';
  }
  return checkBytes(crc32, page, stored) === undefined ? undefined : 'bytes';
}

/** Adds a checksum. `text`: a JSON object with at least one member. */
export function addToHead(crc32: Crc32, text: string): string {
  return `${text.slice(0, -1)},"crc":"${toDigits(crc32(text))}"}`;
}

/** Returns the head's text without its checksum, `wrong`, or `none` if it has none. */
export function checkHead(crc32: Crc32, stored: string): { readonly text: string } | 'wrong' | 'none' {
  const end = HEAD_END.exec(stored);
  if (end === null) return 'none';
  const text = `${stored.slice(0, end.index)}}`;
  return toDigits(crc32(text)) === end[1] ? { text } : 'wrong';
}

/** Adds a checksum in steps, since a record may be as long as a request. */
export function* addToRecord(crc32: Crc32, { number, text, pieces }: JournalRecord): CooperativeTask<JournalRecord> {
  const seed = seedOf(number);
  const digits = toDigits(
    yield* pieces === undefined ? checksumInSteps(crc32, text, seed) : checksumOf(crc32, pieces, seed),
  );
  return { number, text: digits + text, pieces: pieces && [digits, ...pieces] };
}

function* checksumOf(crc32: Crc32, pieces: readonly string[], seed: number): CooperativeTask<number> {
  let checksum = seed;
  for (const piece of pieces) {
    checksum = yield* checksumInSteps(crc32, piece, checksum);
    yield;
  }
  return checksum;
}

function* checksumInSteps(crc32: Crc32, text: string, seed: number): CooperativeTask<number> {
  let checksum = seed;
  let from = 0;
  yield* putTogether(text);
  while (from + STEP_LENGTH < text.length) {
    const end = wholeCharactersEnd(text, from + STEP_LENGTH);
    checksum = crc32(text.slice(from, end), checksum);
    from = end;
    yield;
  }
  return crc32(from === 0 ? text : text.slice(from), checksum);
}

/** Returns the record's text without its checksum; undefined if that is wrong. In steps, like `addToRecord`. */
export function* checkRecord(crc32: Crc32, number: number, stored: string): CooperativeTask<string | undefined> {
  if (stored.startsWith('{')) return stored;
  const text = stored.slice(DIGITS);
  const checksum = yield* checksumInSteps(crc32, text, seedOf(number));
  return toDigits(checksum) === stored.slice(0, DIGITS) ? text : undefined;
}

function toDigits(checksum: number): string {
  return checksum.toString(16).padStart(DIGITS, '0');
}

/** Returns a seed from all bits of the number, though a checksum has 32: numbers of one file differ in the lower ones, or by their epochs. */
function seedOf(number: number): number {
  const high = Math.floor(number / 2 ** 32);
  return (Math.imul(high, 0x9e3779b1) ^ (number % 2 ** 32)) >>> 0;
}
