/** Base64 (RFC 4648, section 4) of bytes, by the host's own functions if it has them. */

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

export function toBase64(bytes: Uint8Array): string {
  const native: unknown = Reflect.get(bytes, 'toBase64');
  if (typeof native === 'function') return (native as NativeBase64['toBase64']).call(bytes);
  let binary = '';
  for (let at = 0; at < bytes.length; at += CALL_LENGTH) {
    binary += String.fromCharCode(...bytes.subarray(at, at + CALL_LENGTH));
  }
  return btoa(binary);
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
