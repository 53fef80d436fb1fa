/** Keys from passwords, and signatures. WebCrypto makes them on another thread, on every host; it lacks only SHA-224. */

import { hmac } from '@noble/hashes/hmac.js';
import { sha224 } from '@noble/hashes/sha2.js';
import { DatabaseError } from '../../base/errors/database-error.ts';
import { toHex } from '../../base/shared/bytes.ts';
import { TimeSlice } from '../../base/shared/turn.ts';
import type { Prf } from '../settings.ts';

/** `name`: undefined if WebCrypto does not have it. */
const DIGESTS: Readonly<Record<Prf, { readonly name: string | undefined; readonly bytes: number }>> = {
  sha: { name: 'SHA-1', bytes: 20 },
  sha224: { name: undefined, bytes: 28 },
  sha256: { name: 'SHA-256', bytes: 32 },
  sha384: { name: 'SHA-384', bytes: 48 },
  sha512: { name: 'SHA-512', bytes: 64 },
};

export interface Derivation {
  readonly prf: Prf;
  readonly salt: string;
  readonly iterations: number;
  /** Bytes of the key; default: the output length of the hash function. */
  readonly bytes?: number;
}

/** Returns PBKDF2 (RFC 8018, 5.2), as hexadecimal digits. It takes a millisecond for some thousand iterations; with SHA-224 a multiple of that. */
export async function derivePbkdf2(password: string, { prf, salt, iterations, bytes }: Derivation): Promise<string> {
  const { name, bytes: own } = DIGESTS[prf];
  const encoder = new TextEncoder();
  if (name === undefined) {
    return toHex(await deriveSha224(encoder.encode(password), encoder.encode(salt), iterations, bytes ?? own));
  }
  const subtle = requireSubtle();
  // WebKit derives nothing from an empty key. A zero byte is the same key: HMAC fills keys up with zeros (RFC 2104, 2).
  const secret = password === '' ? new Uint8Array(1) : encoder.encode(password);
  const key = await subtle.importKey('raw', secret, 'PBKDF2', false, ['deriveBits']);
  const algorithm = { name: 'PBKDF2', hash: name, salt: encoder.encode(salt), iterations };
  return toHex(new Uint8Array(await subtle.deriveBits(algorithm, key, (bytes ?? own) * 8)));
}

/** Returns how many times all iterations are made for a key of that many bytes. */
export function blocksOf(prf: Prf, bytes: number): number {
  return Math.max(1, Math.ceil(bytes / DIGESTS[prf].bytes));
}

/** PBKDF2 in turns of this thread. */
async function deriveSha224(password: Uint8Array, salt: Uint8Array, iterations: number, bytes: number) {
  const timeSlice = new TimeSlice();
  const key = new Uint8Array(bytes);
  const prf = hmac.create(sha224, password);
  const round = prf.clone();
  const digest = new Uint8Array(sha224.outputLen);
  for (let block = 0; block * digest.length < bytes; block++) {
    const place = new Uint8Array(4);
    new DataView(place.buffer).setUint32(0, block + 1);
    prf._cloneInto(round).update(salt).update(place).digestInto(digest);
    const sum = digest.slice();
    for (let done = 1; done < iterations; done++) {
      prf._cloneInto(round).update(digest).digestInto(digest);
      for (const [at, byte] of digest.entries()) sum[at] = (sum[at] ?? 0) ^ byte;
      if (timeSlice.isDue) await timeSlice.rest();
    }
    key.set(sum.subarray(0, bytes - block * digest.length), block * digest.length);
  }
  return key;
}

/** Returns SHA-1 of the password followed by the salt: what old user documents hold. */
export async function deriveSimple(password: string, salt: string): Promise<string> {
  return toHex(new Uint8Array(await requireSubtle().digest('SHA-1', new TextEncoder().encode(password + salt))));
}

type Subtle = typeof globalThis.crypto.subtle;

export type SubtleKey = Awaited<ReturnType<Subtle['importKey']>>;

/** Pages have it in secure contexts only. */
export function requireSubtle(): Subtle {
  const { subtle }: { readonly subtle?: Subtle } = crypto;
  if (subtle !== undefined) return subtle;
  const reason = 'This host has no WebCrypto, which accounts need. Serve the page by https or from localhost.';
  throw new DatabaseError('not_implemented', reason);
}

const HMAC_SHA1 = { name: 'HMAC', hash: 'SHA-1' } as const;
export const HMAC_BYTES = 20;

/** The family's cookies and tokens use it. `key` must not be empty. */
export async function hmacSha1(key: string, message: string): Promise<Uint8Array> {
  const encoder = new TextEncoder();
  const imported = await requireSubtle().importKey('raw', encoder.encode(key), HMAC_SHA1, false, ['sign']);
  return new Uint8Array(await requireSubtle().sign('HMAC', imported, encoder.encode(message)));
}
