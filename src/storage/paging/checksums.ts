import type { Crc32 } from '../../base/shared/crc32.ts';
import type { CooperativeTask } from '../../base/shared/turn.ts';
import { putTogether, wholeCharactersEnd } from '../../base/shared/utf8.ts';
import type { JournalRecord, PageNumber } from '../page-store.ts';

/**
 * How checksums (CRC-32) are stored with what they are of.
 *
 * - A text ends with its checksum as eight hexadecimal digits, bytes end with it as four bytes, the lowest first.
 * - A head, which is a JSON object, has it as its last member, `crc`.
 * - A journal record begins with it; records of the first format have none, and begin with a brace.
 *
 * The number of a page, or of a record, is part of its checksum: content under a wrong number is found out, too.
 */

/** What a checksum adds to a page at most, in bytes. */
export const PAGE_OVERHEAD = 8;
/** What a checksum adds to a page of bytes. */
export const BYTES_OVERHEAD = 4;

const DIGITS = 8;
/** Characters of a record between two looks at the clock. */
const STEP_LENGTH = 1_048_576;
const HEAD_END = /,"crc":"([0-9a-f]{8})"\}$/;

export function addToText(crc32: Crc32, page: PageNumber, text: string): string {
  return text + toDigits(crc32(text, seedOf(page)));
}

/** The text without its checksum; undefined where that is wrong. */
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

/** The bytes without their checksum; undefined where that is wrong. */
export function checkBytes(crc32: Crc32, page: PageNumber, stored: Uint8Array): Uint8Array | undefined {
  const end = stored.length - BYTES_OVERHEAD;
  if (end < 0) return undefined;
  const bytes = stored.subarray(0, end);
  const found = new DataView(stored.buffer, stored.byteOffset).getUint32(end, true);
  return crc32(bytes, seedOf(page)) === found ? bytes : undefined;
}

/** `text`: a JSON object with at least one member. */
export function addToHead(crc32: Crc32, text: string): string {
  return `${text.slice(0, -1)},"crc":"${toDigits(crc32(text))}"}`;
}

/** The head's text without its checksum, `wrong`, or `none` where it has none. */
export function checkHead(crc32: Crc32, stored: string): { readonly text: string } | 'wrong' | 'none' {
  const end = HEAD_END.exec(stored);
  if (end === null) return 'none';
  const text = `${stored.slice(0, end.index)}}`;
  return toDigits(crc32(text)) === end[1] ? { text } : 'wrong';
}

/** In steps, since a record may be as long as a request. */
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

/** The record's text without its checksum; undefined where that is wrong. In steps, as it was added. */
export function* checkRecord(crc32: Crc32, number: number, stored: string): CooperativeTask<string | undefined> {
  if (stored.startsWith('{')) return stored;
  const text = stored.slice(DIGITS);
  const checksum = yield* checksumInSteps(crc32, text, seedOf(number));
  return toDigits(checksum) === stored.slice(0, DIGITS) ? text : undefined;
}

function toDigits(checksum: number): string {
  return checksum.toString(16).padStart(DIGITS, '0');
}

/** All bits of the number, though a checksum has 32: numbers of one file differ in the lower ones, or by their epochs. */
function seedOf(number: number): number {
  const high = Math.floor(number / 2 ** 32);
  return (Math.imul(high, 0x9e3779b1) ^ (number % 2 ** 32)) >>> 0;
}
