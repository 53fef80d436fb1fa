/**
 * CRC-32 as zlib, gzip (RFC 1952, section 8) and PNG define it, of bytes or of a text as UTF-8. `start` is the checksum of
 * what comes before, or any other number that is to be part of the checksum. Node's `zlib.crc32` is such a function.
 */
export type Crc32 = (data: string | Uint8Array, start?: number) => number;

const POLYNOMIAL = 0xedb88320;
const BYTE_VALUES = 256;
/** Bytes that are processed at once: "slicing by 8" (Kounavis and Berry, 2005). */
const STEP = 8;

/** What a byte contributes to the checksum, indexed by the number of bytes after it in its step, and by its value. */
const TABLE = createTable();

function createTable(): Int32Array {
  const table = new Int32Array(STEP * BYTE_VALUES);
  for (let byte = 0; byte < BYTE_VALUES; byte += 1) {
    let remainder = byte;
    for (let bit = 0; bit < 8; bit += 1) remainder = (remainder >>> 1) ^ (remainder & 1 ? POLYNOMIAL : 0);
    table[byte] = remainder;
  }
  for (let at = BYTE_VALUES; at < table.length; at += 1) {
    const before = table[at - BYTE_VALUES] ?? 0;
    table[at] = (before >>> 8) ^ (table[before & 255] ?? 0);
  }
  return table;
}

/** For hosts that have no faster one. */
export const crc32: Crc32 = (data, start = 0) => {
  return ~remainderOf(typeof data === 'string' ? new TextEncoder().encode(data) : data, ~start) >>> 0;
};

/** All indices are in range; `?? 0` satisfies the compiler, and costs nothing. */
function remainderOf(bytes: Uint8Array, start: number): number {
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const wholeSteps = bytes.length - (bytes.length % STEP);
  let remainder = start;
  let at = 0;
  for (; at < wholeSteps; at += STEP) {
    remainder ^= words.getInt32(at, true);
    const second = words.getInt32(at + 4, true);
    remainder =
      (TABLE[1792 + (remainder & 255)] ?? 0) ^
      (TABLE[1536 + ((remainder >>> 8) & 255)] ?? 0) ^
      (TABLE[1280 + ((remainder >>> 16) & 255)] ?? 0) ^
      (TABLE[1024 + (remainder >>> 24)] ?? 0) ^
      (TABLE[768 + (second & 255)] ?? 0) ^
      (TABLE[512 + ((second >>> 8) & 255)] ?? 0) ^
      (TABLE[256 + ((second >>> 16) & 255)] ?? 0) ^
      (TABLE[second >>> 24] ?? 0);
  }
  for (; at < bytes.length; at += 1) remainder = (remainder >>> 8) ^ (TABLE[(remainder ^ (bytes[at] ?? 0)) & 255] ?? 0);
  return remainder;
}
