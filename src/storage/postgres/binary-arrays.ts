/**
 * Arrays as PostgreSQL takes them in its binary format: as text, bytes would take twice their size, and each number would be parsed.
 * The server reads them by the type that the statement gives the parameter.
 */

/** Types of elements, by their numbers in the catalogue, which never change. */
const TYPE = { boolean: 16, bytes: 17, int8: 20 };
/** Dimensions, whether there are nulls, type; then the length and the first index of the only dimension. */
const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;
const INT8_BYTES = 8;

/** For a parameter of type `int8[]`. */
export function int8Array(numbers: readonly number[]): Buffer {
  const array = arrayOf(TYPE.int8, numbers.length, numbers.length * INT8_BYTES);
  let at = HEADER_BYTES;
  for (const number of numbers) {
    at = array.writeInt32BE(INT8_BYTES, at);
    at = array.writeBigInt64BE(BigInt(number), at);
  }
  return array;
}

/** For a parameter of type `boolean[]`. */
export function booleanArray(values: readonly boolean[]): Buffer {
  const array = arrayOf(TYPE.boolean, values.length, values.length);
  let at = HEADER_BYTES;
  for (const value of values) {
    at = array.writeInt32BE(1, at);
    at = array.writeUInt8(value ? 1 : 0, at);
  }
  return array;
}

/** For a parameter of type `bytea[]`. A string is encoded as UTF-8. */
export function bytesArray(values: readonly (string | Uint8Array)[]): Buffer {
  const lengths = values.map((value) => (typeof value === 'string' ? Buffer.byteLength(value) : value.length));
  const total = lengths.reduce((sum, length) => sum + length, 0);
  const array = arrayOf(TYPE.bytes, values.length, total);
  let at = HEADER_BYTES;
  for (const [index, value] of values.entries()) {
    const length = lengths[index] ?? 0;
    at = array.writeInt32BE(length, at);
    if (typeof value === 'string') array.write(value, at);
    else array.set(value, at);
    at += length;
  }
  return array;
}

/** `contentBytes`: without the lengths of elements. */
function arrayOf(type: number, count: number, contentBytes: number): Buffer {
  const array = Buffer.allocUnsafe(HEADER_BYTES + count * LENGTH_BYTES + contentBytes);
  let at = array.writeInt32BE(1, 0);
  at = array.writeInt32BE(0, at);
  at = array.writeInt32BE(type, at);
  at = array.writeInt32BE(count, at);
  array.writeInt32BE(1, at);
  return array;
}
