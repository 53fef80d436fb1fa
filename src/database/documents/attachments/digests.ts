/** Digests of attachments: 32 hexadecimal digits inside, `md5-` and Base64 in documents (docs/http/attachments.md#attachments-in-documents). */
import { DatabaseError } from '../../../base/errors/database-error.ts';

const PREFIX = 'md5-';
const BASE64_MD5 = /^[A-Za-z0-9+/]{22}==$/;

/** Returns the digest in the form that documents use. */
export function writeDigest(hex: string): string {
  return PREFIX + hexToBase64(hex);
}

/** Returns the 32 hexadecimal digits; undefined if the text is not a digest of that form. */
export function readDigest(text: unknown): string | undefined {
  return typeof text === 'string' && text.startsWith(PREFIX) ? base64ToHex(text.slice(PREFIX.length)) : undefined;
}

/** Returns the 32 hexadecimal digits of a `Content-MD5`; undefined if absent. Fails with `content_md5_mismatch` if the value is no MD5. */
export function readContentMd5(header: string | undefined): string | undefined {
  const text = header?.trim();
  if (text === undefined || text === '') return undefined;
  const digest = base64ToHex(text);
  if (digest === undefined) throw contentMd5Mismatch();
  return digest;
}

export function contentMd5Mismatch(): DatabaseError {
  return new DatabaseError('content_md5_mismatch', 'Possible message corruption.');
}

/** Returns the digest in the form of `Content-MD5` (RFC 1864). */
export function hexToBase64(hex: string): string {
  let bytes = '';
  for (let at = 0; at < hex.length; at += 2) bytes += String.fromCharCode(Number.parseInt(hex.slice(at, at + 2), 16));
  return btoa(bytes);
}

/** Returns the hexadecimal digits; undefined if the text is not the Base64 form of an MD5. */
export function base64ToHex(base64: string): string | undefined {
  if (!BASE64_MD5.test(base64)) return undefined;
  const bytes = atob(base64);
  let hex = '';
  for (let at = 0; at < bytes.length; at++) hex += bytes.charCodeAt(at).toString(16).padStart(2, '0');
  return hex;
}
