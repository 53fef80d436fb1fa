/** A service beside the server that issues JSON Web Tokens for an hour (docs/sync.md#tokens). Its clock is right. */
import { createHmac } from 'node:crypto';
import type { ProvidedToken } from '../../../src/replication/contract.ts';

const HOUR_S = 3_600;

export class LoginService {
  /** The key that the server has for its tokens, as Base64. */
  readonly key = Buffer.from('the key of the login service, which nobody else has').toString('base64');
  /** It fails. */
  isDown = false;
  #issued = 0;

  /** How many tokens it has issued. */
  get issued(): number {
    return this.#issued;
  }

  async issue(user: string): Promise<ProvidedToken> {
    if (this.isDown) throw new Error('The login service is down.');
    this.#issued += 1;
    const exp = Math.floor(Date.now() / 1_000) + HOUR_S;
    const text = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ sub: user, exp, '_couchdb.roles': ['family'] })}`;
    const signature = createHmac('sha256', Buffer.from(this.key, 'base64')).update(text).digest('base64url');
    return { token: `${text}.${signature}` };
  }
}

function encode(json: object): string {
  return Buffer.from(JSON.stringify(json)).toString('base64url');
}
