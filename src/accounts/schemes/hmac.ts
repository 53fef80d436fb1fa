/** HMAC-SHA1, which the family's cookies and tokens use. */
import { requireSubtle } from '../passwords/key-derivation.ts';

const ALGORITHM = { name: 'HMAC', hash: 'SHA-1' } as const;
export const HMAC_BYTES = 20;

/** `key` must not be empty. */
export async function hmacSha1(key: string, message: string): Promise<Uint8Array> {
  const encoder = new TextEncoder();
  const imported = await requireSubtle().importKey('raw', encoder.encode(key), ALGORITHM, false, ['sign']);
  return new Uint8Array(await requireSubtle().sign('HMAC', imported, encoder.encode(message)));
}
