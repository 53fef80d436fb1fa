import type { RandomBytes } from './clock.ts';

/** So many random bytes, as hexadecimal digits. */
export function randomHex(random: RandomBytes, bytes: number): string {
  return Array.from(random(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
