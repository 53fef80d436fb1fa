import type { RandomBytes } from './clock.ts';

/** Hexadecimal digits in lower case, two for each byte. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** So many random bytes, as hexadecimal digits. */
export function randomHex(random: RandomBytes, bytes: number): string {
  return toHex(random(new Uint8Array(bytes)));
}
