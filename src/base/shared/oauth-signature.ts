/** Signatures of requests as OAuth 1.0 defines them (RFC 5849, section 3.4). */
import { toBase64 } from './bytes.ts';

export type OAuthSignatureMethod = 'HMAC-SHA1' | 'PLAINTEXT';

export interface OAuthRequest {
  readonly method: string;
  /** Absolute, with its query. */
  readonly url: string;
  /** The parameters of the header, decoded; `realm` and `oauth_signature` are ignored. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Characters that a URL leaves unencoded and OAuth does not (section 3.6). */
const ALSO_ENCODED = /[!'()*]/g;
const UNSIGNED: readonly string[] = ['realm', 'oauth_signature'];

export function oauthEncode(text: string): string {
  return encodeURIComponent(text).replace(ALSO_ENCODED, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Returns the signature, not encoded. */
export async function oauthSignature(
  method: OAuthSignatureMethod,
  request: OAuthRequest,
  secrets: { readonly consumer: string; readonly token: string },
): Promise<string> {
  const key = `${oauthEncode(secrets.consumer)}&${oauthEncode(secrets.token)}`;
  if (method === 'PLAINTEXT') return key;
  const encoder = new TextEncoder();
  const algorithm = { name: 'HMAC', hash: 'SHA-1' };
  const imported = await crypto.subtle.importKey('raw', encoder.encode(key), algorithm, false, ['sign']);
  return toBase64(new Uint8Array(await crypto.subtle.sign('HMAC', imported, encoder.encode(baseString(request)))));
}

/** Returns the base string of section 3.4.1. */
export function baseString({ method, url, parameters }: OAuthRequest): string {
  const { origin, pathname, searchParams } = new URL(url);
  const given = Object.entries(parameters).filter(([name]) => !UNSIGNED.includes(name));
  const pairs = [...searchParams, ...given].map(([name, value]): [string, string] => [
    oauthEncode(name),
    oauthEncode(value),
  ]);
  const sorted = pairs.sort(([one, first], [other, second]) => compare(one, other) || compare(first, second));
  const text = sorted.map(([name, value]) => `${name}=${value}`).join('&');
  return [method.toUpperCase(), `${origin}${pathname}`, text].map(oauthEncode).join('&');
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
