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

interface NativeBase64 {
  toBase64(this: Uint8Array): string;
}
interface NativeFromBase64 {
  fromBase64(text: string): Uint8Array<ArrayBuffer>;
}

/** Number of arguments that one call takes on every engine. */
const CALL_LENGTH = 8_192;
const ALPHABET = /^[A-Za-z0-9+/]*={0,2}$/;
const WHITE_SPACE = /[\t\n\f\r ]+/g;

/** Base64 (RFC 4648, section 4), by the host's own functions if it has them. */
export function toBase64(bytes: Uint8Array): string {
  const native: unknown = Reflect.get(bytes, 'toBase64');
  if (typeof native === 'function') return (native as NativeBase64['toBase64']).call(bytes);
  let binary = '';
  for (let at = 0; at < bytes.length; at += CALL_LENGTH) {
    binary += String.fromCharCode(...bytes.subarray(at, at + CALL_LENGTH));
  }
  return btoa(binary);
}

/** Base64url (RFC 4648, section 5), without padding. */
export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/** As `fromBase64`, for base64url. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  return fromBase64(text.replaceAll('-', '+').replaceAll('_', '/'));
}

/** Returns undefined if the text is not Base64. Ignores white space in it; the padding may be missing. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  const plain = text.replace(WHITE_SPACE, '');
  if (!ALPHABET.test(plain) || plain.replace(/=+$/, '').length % 4 === 1) return undefined;
  const native: unknown = Reflect.get(Uint8Array, 'fromBase64');
  try {
    if (typeof native === 'function') return (Uint8Array as unknown as NativeFromBase64).fromBase64(plain);
    const binary = atob(plain);
    const bytes = new Uint8Array(binary.length);
    for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
    return bytes;
  } catch {
    return undefined;
  }
}
