import type { RandomBytes } from './clock.ts';
import { toHex } from './hex.ts';

/** So many random bytes, as hexadecimal digits. */
export function randomHex(random: RandomBytes, bytes: number): string {
  return toHex(random(new Uint8Array(bytes)));
}
