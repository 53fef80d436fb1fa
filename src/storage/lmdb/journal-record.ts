import { crc32 } from 'node:zlib';
import type { JournalRecord } from '../page-store.ts';

/**
 * How a journal record lies in a segment file, in little-endian order:
 *
 *     CRC-32 of all that follows (4) | bytes of text (4) | number (8, a float) | text as UTF-8
 *
 * A record that was written in part, or damaged since, fails its checksum, and so does a stretch of zeros.
 */
const LENGTH_AT = 4;
const NUMBER_AT = 8;
const TEXT_AT = 16;
/** UTF-8 takes at most so many bytes for one unit of a JavaScript string. */
const MAX_UNIT_BYTES = 3;
const FIRST_CAPACITY = 16 * 1024;

/** Encodes records one after another into a buffer of its own. */
export class RecordEncoder {
  #buffer = Buffer.allocUnsafe(FIRST_CAPACITY);

  /** The record's bytes, which are good until the next call. */
  encode({ number, text }: JournalRecord): Uint8Array {
    const capacity = TEXT_AT + text.length * MAX_UNIT_BYTES;
    if (this.#buffer.length < capacity) this.#buffer = Buffer.allocUnsafe(capacity);
    const buffer = this.#buffer;
    const length = buffer.write(text, TEXT_AT, 'utf8');
    buffer.writeUInt32LE(length, LENGTH_AT);
    buffer.writeDoubleLE(number, NUMBER_AT);
    const end = TEXT_AT + length;
    buffer.writeUInt32LE(crc32(buffer.subarray(LENGTH_AT, end)), 0);
    return buffer.subarray(0, end);
  }
}

/** The records at the beginning of `bytes`, up to the first that is not whole or not sound. */
export function decodeRecords(bytes: Buffer): JournalRecord[] {
  const records: JournalRecord[] = [];
  let start = 0;
  for (let end = endOfRecord(bytes, start); end !== undefined; end = endOfRecord(bytes, start)) {
    const number = bytes.readDoubleLE(start + NUMBER_AT);
    records.push({ number, text: bytes.toString('utf8', start + TEXT_AT, end) });
    start = end;
  }
  return records;
}

/** Whether a sound record lies behind one that is not. A write that was cut short has nothing behind it: this is damage. */
export function hasRecordsBehindDamage(bytes: Buffer): boolean {
  let start = 0;
  for (let end = endOfRecord(bytes, start); end !== undefined; end = endOfRecord(bytes, start)) start = end;
  for (; start < bytes.length; start += 1) if (endOfRecord(bytes, start) !== undefined) return true;
  return false;
}

/** Undefined where no whole and sound record begins at `start`. */
function endOfRecord(bytes: Buffer, start: number): number | undefined {
  if (start + TEXT_AT > bytes.length) return undefined;
  const end = start + TEXT_AT + bytes.readUInt32LE(start + LENGTH_AT);
  if (end > bytes.length) return undefined;
  return bytes.readUInt32LE(start) === crc32(bytes.subarray(start + LENGTH_AT, end)) ? end : undefined;
}
