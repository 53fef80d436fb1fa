/** Checks the tokens of the issuers whose keys the server fetches (docs/http/accounts.md#openid-providers). */
import { decodeJwt, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { RecognisedToken, TokenConfig, TokenIssuers } from '../../accounts/contract.ts';
import { admitted, refusal, refuse, stillAdmitted, type UserClaims } from '../../accounts/schemes/bearer-token.ts';
import { rolesClaimPath } from '../../accounts/schemes/roles-claim.ts';
import { isDatabaseError } from '../../base/errors/database-error.ts';
import { type Clock, systemClock } from '../../base/shared/clock.ts';
import type { RequestUser } from '../../base/shared/message.ts';
import { Notifier } from '../../base/shared/notifier.ts';
import type { Config, Log } from '../../base/system/contract.ts';
import { IssuerKeys } from './issuer-keys.ts';
import { findIssuer, ISSUERS_SECTION, type TrustedIssuer } from './trusted-issuers.ts';

/** Signed with a private key: a public key is never a shared secret. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
/** More than anyone trusts at a time; changed settings leave old ones behind. */
const MAX_ISSUERS = 100;

/** What a token was checked with: the keys of its issuer, which change their version when one is gone. */
interface Proof {
  readonly issuer: TrustedIssuer;
  readonly keys: IssuerKeys;
  readonly version: number;
}

export class FetchedIssuers implements TokenIssuers {
  readonly #config: TokenConfig;
  readonly #log: Log;
  readonly #fetch: typeof globalThis.fetch;
  /** By the text of the setting, the latest used at the end. */
  readonly #keys = new Map<string, IssuerKeys>();
  readonly #losses = new Notifier<undefined>();

  constructor(config: TokenConfig, log: Log, fetchKeys: typeof globalThis.fetch = (...request) => fetch(...request)) {
    this.#config = config;
    this.#log = log;
    this.#fetch = fetchKeys;
  }

  async recognise(config: TokenConfig, clock: Clock, token: string): Promise<RecognisedToken | undefined> {
    const claimed = claimsOf(token);
    const issuer = claimed.iss === undefined ? undefined : findIssuer(config, claimed.iss);
    if (issuer === undefined) return undefined;
    const keys = this.#keysOf(issuer);
    // Its key may go while the signature is checked.
    let proof: Proof = { issuer, keys, version: keys.version };
    const { payload } = await verify(token, issuer, keys.finder((claimed.iat ?? 0) * 1000), clock);
    const recognised = admitted(config, payload, userClaims(issuer, config));
    const current = async (now: TokenConfig): Promise<RequestUser | undefined> => {
      const next = this.#presentProof(now, proof);
      if (next === undefined) return undefined;
      if (next !== proof && !(await isStillSigned(token, next, clock))) return undefined;
      proof = next;
      const user = stillAdmitted(now, payload, userClaims(next.issuer, now));
      // With another prefix it is another user's.
      return user?.name === recognised.user.name ? user : undefined;
    };
    return { ...recognised, current };
  }

  /** Returns the same proof if it still holds; otherwise what the token has to be checked with now. Undefined if its issuer is no longer trusted. */
  #presentProof(now: TokenConfig, proof: Proof): Proof | undefined {
    const { issuer, keys, version } = proof;
    if (now.get(ISSUERS_SECTION, issuer.name) === issuer.text)
      return keys.isFresh && keys.version === version ? proof : { issuer, keys, version: keys.version };
    const next = findIssuer(now, issuer.issuer);
    if (next === undefined) return undefined;
    const nextKeys = this.#keysOf(next);
    return { issuer: next, keys: nextKeys, version: nextKeys.version };
  }

  onChange(listener: () => void): void {
    this.#losses.listen(listener);
  }

  close(): void {
    for (const keys of this.#keys.values()) keys.close();
    this.#keys.clear();
  }

  #keysOf(issuer: TrustedIssuer): IssuerKeys {
    const { name, text } = issuer;
    const found = this.#keys.get(text) ?? this.#open(issuer, () => this.#config.get(ISSUERS_SECTION, name) === text);
    this.#keys.delete(text);
    this.#keys.set(text, found);
    for (const [oldest, keys] of this.#keys) {
      if (this.#keys.size <= MAX_ISSUERS) break;
      keys.close();
      this.#keys.delete(oldest);
    }
    return found;
  }

  #open(issuer: TrustedIssuer, isTrusted: () => boolean): IssuerKeys {
    const onLoss = () => this.#losses.notify(undefined);
    return new IssuerKeys({ issuer, clock: systemClock, log: this.#log, fetch: this.#fetch, onLoss, isTrusted });
  }
}

/** Returns what the token says, which nothing proves yet; nothing if it can't be read. */
function claimsOf(token: string): JWTPayload {
  try {
    return decodeJwt(token);
  } catch {
    return {};
  }
}

async function verify(
  token: string,
  issuer: TrustedIssuer,
  findKey: JWTVerifyGetKey,
  clock: Clock,
): Promise<{ readonly payload: JWTPayload }> {
  const audience = issuer.audiences.length === 0 ? {} : { audience: [...issuer.audiences] };
  try {
    return await jwtVerify(token, findKey, {
      ...{ issuer: issuer.issuer, algorithms: ALGORITHMS, currentDate: new Date(clock.now()) },
      ...audience,
    });
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) throw refusal(`its issuer ${issuer.name} has no key for it`);
    if (error instanceof errors.JWKSMultipleMatchingKeys)
      throw refusal(`its issuer ${issuer.name} has several keys, and it does not name one (kid)`);
    if (error instanceof errors.JOSEAlgNotAllowed)
      throw refusal('this service does not accept its algorithm from an issuer');
    return refuse(error);
  }
}

/** Whether its key is still there, however old the token is. Fails with a temporary refusal if that can't be known now. */
async function isStillSigned(token: string, { issuer, keys }: Proof, clock: Clock): Promise<boolean> {
  const { nbf = 0 } = claimsOf(token);
  const atIssue = { ...clock, now: () => nbf * 1000 };
  try {
    await verify(token, issuer, keys.finder(0), atIssue);
    return true;
  } catch (error) {
    if (isDatabaseError(error, 'unauthorized')) return false;
    throw error;
  }
}

function userClaims({ rolesPath, namePrefix }: TrustedIssuer, config: Config): UserClaims {
  return { rolesPath: rolesPath ?? rolesClaimPath(config), namePrefix };
}
