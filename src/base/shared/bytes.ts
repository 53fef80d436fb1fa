import type { RandomBytes } from './clock.ts';

/** Returns hexadecimal digits in lower case, two for each byte. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Returns this many random bytes as hexadecimal digits. */
export function randomHex(random: RandomBytes, bytes: number): string {
  return toHex(random(new Uint8Array(bytes)));
}

/** Returns the concatenated parts as new bytes. */
export function joinBytes(parts: readonly (Uint8Array | readonly number[])[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
