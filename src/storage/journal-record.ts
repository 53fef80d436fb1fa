import type { Crc32 } from '../base/shared/crc32.ts';
import type { JournalRecord } from './page-store.ts';

/**
 * The layout of a journal record in a file, in little-endian order:
 *
 *     CRC-32 of all that follows (4) | bytes of text (4) | number (8, a float) | text as UTF-8
 *
 * A record that was partly written, or damaged since, fails its checksum, and so does a run of zeros.
 */
const LENGTH_AT = 4;
const NUMBER_AT = 8;
const TEXT_AT = 16;
/** UTF-8 takes at most this many bytes for one unit of a JavaScript string. */
const MAX_UNIT_BYTES = 3;
/** Size of the buffer that an encoder keeps; each open file has one encoder. */
const KEPT_CAPACITY = 4 * 1024;

/** Encodes records one after another into its own buffer, or into a new one if they are long. */
export class RecordEncoder {
  readonly #crc32: Crc32;
  readonly #encoder = new TextEncoder();
  readonly #kept = new Uint8Array(KEPT_CAPACITY);

  constructor(crc32: Crc32) {
    this.#crc32 = crc32;
  }

  /** Returns the record's bytes, valid until the next call. The text must be well-formed. */
  encode({ number, text }: JournalRecord): Uint8Array<ArrayBuffer> {
    const capacity = TEXT_AT + text.length * MAX_UNIT_BYTES;
    const buffer = capacity <= KEPT_CAPACITY ? this.#kept : new Uint8Array(capacity);
    const length = this.#encoder.encodeInto(text, buffer.subarray(TEXT_AT)).written;
    const record = buffer.subarray(0, TEXT_AT + length);
    const view = viewOf(record);
    view.setUint32(LENGTH_AT, length, true);
    view.setFloat64(NUMBER_AT, number, true);
    view.setUint32(0, this.#crc32(record.subarray(LENGTH_AT)), true);
    return record;
  }
}

interface DecodedRecords {
  readonly records: JournalRecord[];
  /** Where the first record that is not whole or not sound begins. */
  readonly end: number;
}

/** Returns the records at the beginning of `bytes`, up to the first that is not whole or not sound. */
export function decodeRecords(bytes: Uint8Array, crc32: Crc32): DecodedRecords {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const view = viewOf(bytes);
  const records: JournalRecord[] = [];
  let start = 0;
  for (let end = endOfRecord(bytes, view, start, crc32); end !== undefined; ) {
    const text = decoder.decode(bytes.subarray(start + TEXT_AT, end));
    records.push({ number: view.getFloat64(start + NUMBER_AT, true), text });
    start = end;
    end = endOfRecord(bytes, view, start, crc32);
  }
  return { records, end: start };
}

/** Returns the sound records after the unsound one at `start`. A write that was cut short has none after it: they mean damage. */
export function recordsBehind(bytes: Uint8Array, start: number, crc32: Crc32): JournalRecord[] {
  const view = viewOf(bytes);
  const found: JournalRecord[] = [];
  for (let at = start + 1; at < bytes.length; at += 1) {
    if (endOfRecord(bytes, view, at, crc32) === undefined) continue;
    const { records, end } = decodeRecords(bytes.subarray(at), crc32);
    found.push(...records);
    at += end;
  }
  return found;
}

/** The unit that a medium writes as a whole, at multiples of this. */
const SECTOR_BYTES = 512;

/**
 * Returns whether the last record, which begins at `start` and is not sound, was written completely. What a crash cuts short ends
 * early, or a sector of it was never written and is all zeros; otherwise it is damaged.
 */
export function isLastDamaged(bytes: Uint8Array, start: number, crc32: Crc32): boolean {
  const rest = bytes.subarray(start);
  if (rest.length < TEXT_AT || hasEmptySector(bytes, start)) return false;
  if (TEXT_AT + viewOf(rest).getUint32(LENGTH_AT, true) <= rest.length) return true;
  // Cut short, or only its length is damaged.
  const whole = rest.slice();
  viewOf(whole).setUint32(LENGTH_AT, rest.length - TEXT_AT, true);
  return endOfRecord(whole, viewOf(whole), 0, crc32) === whole.length;
}

function hasEmptySector(bytes: Uint8Array, start: number): boolean {
  for (let from = start; from < bytes.length; ) {
    const end = Math.min(bytes.length, (Math.floor(from / SECTOR_BYTES) + 1) * SECTOR_BYTES);
    if (bytes.subarray(from, end).every((byte) => byte === 0)) return true;
    from = end;
  }
  return false;
}

/** Returns undefined if no whole and sound record begins at `start`. */
function endOfRecord(bytes: Uint8Array, view: DataView, start: number, crc32: Crc32): number | undefined {
  if (start + TEXT_AT > bytes.length) return undefined;
  const end = start + TEXT_AT + view.getUint32(start + LENGTH_AT, true);
  if (end > bytes.length) return undefined;
  return view.getUint32(start, true) === crc32(bytes.subarray(start + LENGTH_AT, end)) ? end : undefined;
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
