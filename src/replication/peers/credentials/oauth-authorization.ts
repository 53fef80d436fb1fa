/** Signs each request with OAuth 1.0 (RFC 5849). */

import { randomHex } from '../../../base/shared/bytes.ts';
import type { Clock, RandomBytes } from '../../../base/shared/clock.ts';
import { oauthEncode, oauthSignature } from '../../../base/shared/oauth-signature.ts';
import type { Credentials } from '../../contract.ts';
import type { Authorization, SignedRequest } from './authorization.ts';

const NONCE_BYTES = 16;

export class OAuthAuthorization implements Authorization {
  readonly #credentials: Extract<Credentials, { kind: 'oauth' }>;
  readonly #clock: Clock;
  readonly #random: RandomBytes;

  constructor(credentials: Extract<Credentials, { kind: 'oauth' }>, clock: Clock, random: RandomBytes) {
    this.#credentials = credentials;
    this.#clock = clock;
    this.#random = random;
  }

  async headersFor({ method, url }: SignedRequest): Promise<Readonly<Record<string, string>>> {
    const { consumerKey, consumerSecret, token, tokenSecret, signatureMethod } = this.#credentials;
    const parameters = {
      oauth_consumer_key: consumerKey,
      oauth_token: token,
      oauth_signature_method: signatureMethod,
      oauth_timestamp: String(Math.floor(this.#clock.now() / 1_000)),
      oauth_nonce: randomHex(this.#random, NONCE_BYTES),
      oauth_version: '1.0',
    };
    const secrets = { consumer: consumerSecret, token: tokenSecret };
    const signature = await oauthSignature(signatureMethod, { method, url, parameters }, secrets);
    const all = Object.entries({ ...parameters, oauth_signature: signature });
    return { authorization: `OAuth ${all.map(([name, value]) => `${name}="${oauthEncode(value)}"`).join(', ')}` };
  }

  takeCookies(): void {}

  async renew(): Promise<boolean> {
    return false;
  }
}
