/** Values in rows, as the client returns them. */

/** The client returns a Buffer; this is the same bytes in the type that every backend returns. */
export function bytesOf(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  throw new TypeError('a column of bytes holds none');
}

export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
}

/** Numbers of eight bytes come as text. All of ours are exact as numbers of JavaScript. */
export function numberOf(value: unknown): number {
  const number = typeof value === 'string' || typeof value === 'number' ? Number(value) : Number.NaN;
  if (Number.isSafeInteger(number)) return number;
  throw new TypeError(`${String(value)} is not a whole number`);
}
