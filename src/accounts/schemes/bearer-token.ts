/**
 * `Authorization: Bearer` with a JSON Web Token (RFC 7519; docs/http/accounts.md#json-web-tokens). The configuration holds its keys, or the
 * host fetches those of its issuer. The token's algorithm determines the kind of key, so that no public key is ever used as a shared secret.
 */
import { errors, importSPKI, type JWTHeaderParameters, type JWTPayload, jwtVerify } from 'jose';
import { DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import { isObject, ownMember } from '../../base/json/objects.ts';
import { fromBase64 } from '../../base/shared/bytes.ts';
import type { Clock } from '../../base/shared/clock.ts';
import type { RequestUser } from '../../base/shared/message.ts';
import type { Config } from '../../base/system/contract.ts';
import { type RequiredClaim, requiredClaims } from '../../base/system/token-claims.ts';
import type { RecognisedToken, TokenConfig, TokenIssuers } from '../contract.ts';
import { outsideRoles } from './proxy-headers.ts';
import { rolesClaimPath } from './roles-claim.ts';

const SECTION = 'jwt_keys';
const NO_ID = '_default';
const KINDS: readonly (readonly [prefix: string, kind: string])[] = [
  ['HS', 'hmac'],
  ['RS', 'rsa'],
  ['PS', 'rsa'],
  ['ES', 'ec'],
  ['EdDSA', 'eddsa'],
];

/** Returns undefined if the header has another scheme. */
export function parseBearer(header: string | undefined): string | undefined {
  return /^bearer +(\S+) *$/i.exec(header ?? '')?.[1];
}

/**
 * Fails with `unauthorized`, and with a temporary refusal if the keys of the token's issuer can't be read now. `issuers`: those whose keys the
 * host fetches; a token of one of them is checked with the keys of that one only.
 */
export async function recogniseToken(
  config: TokenConfig,
  clock: Clock,
  token: string,
  issuers?: TokenIssuers,
): Promise<RecognisedToken> {
  const issued = await issuers?.recognise(config, clock, token);
  if (issued !== undefined) return issued;
  let keyName = '';
  const keyOf = (header: JWTHeaderParameters) => {
    keyName = keyNameOf(header);
    return importKey(config.get(SECTION, keyName), header.alg);
  };
  const { payload } = await jwtVerify(token, keyOf, { currentDate: new Date(clock.now()) }).catch(refuse);
  const keyText = config.get(SECTION, keyName);
  const holds = (now: Config) => keyText !== undefined && now.get(SECTION, keyName) === keyText;
  return { ...admitted(config, payload), current: (now) => (holds(now) ? stillAdmitted(now, payload) : undefined) };
}

/** Where the roles are, and what else an issuer says of its users. */
export interface UserClaims {
  readonly rolesPath: readonly string[];
  /** Before the claim `sub` in the name of the user. */
  readonly namePrefix: string;
}

/** The user of a token with a valid signature, and when the token expires. Fails with `unauthorized` if a claim does not hold. */
export function admitted(
  config: Config,
  payload: JWTPayload,
  claims: UserClaims = { rolesPath: rolesClaimPath(config), namePrefix: '' },
): Pick<RecognisedToken, 'user' | 'until'> {
  for (const claim of requiredClaims(config)) assertClaim(payload, claim);
  const until = payload.exp === undefined ? undefined : payload.exp * 1000;
  return { user: userOf(payload, claims), until };
}

/** Returns the user by the present settings; undefined if they would refuse the token. */
export function stillAdmitted(config: Config, payload: JWTPayload, claims?: UserClaims): RequestUser | undefined {
  try {
    return admitted(config, payload, claims).user;
  } catch (error) {
    if (isDatabaseError(error, 'unauthorized')) return undefined;
    throw error;
  }
}

function keyNameOf({ alg, kid = NO_ID }: JWTHeaderParameters): string {
  const [, kind] = KINDS.find(([prefix]) => alg.startsWith(prefix)) ?? [];
  if (kind === undefined) throw refusal('this service does not accept its algorithm');
  return `${kind}:${kid}`;
}

async function importKey(
  text: string | undefined,
  alg: string,
): Promise<Awaited<ReturnType<typeof importSPKI>> | Uint8Array> {
  if (text === undefined || text === '') throw refusal('the service has no key for it');
  if (alg.startsWith('HS')) {
    const key = fromBase64(text);
    if (key === undefined || key.length === 0) throw refusal("the key that the service has for it can't be read");
    return key;
  }
  // A file of lines can't hold line breaks.
  const pem = text.replaceAll('\\n', '\n');
  return importSPKI(pem, alg).catch(() => {
    throw refusal("the key that the service has for it can't be read");
  });
}

function userOf(payload: JWTPayload, { rolesPath, namePrefix }: UserClaims): RequestUser {
  const { sub } = payload;
  if (typeof sub !== 'string' || sub === '') throw refusal('it does not name its user');
  let roles: unknown = payload;
  for (const name of rolesPath) roles = isObject(roles) ? ownMember(roles, name) : undefined;
  const texts = Array.isArray(roles) ? roles.filter((role): role is string => typeof role === 'string') : [];
  return { name: `${namePrefix}${sub}`, roles: outsideRoles(texts) };
}

function assertClaim(payload: JWTPayload, { name, value }: RequiredClaim): void {
  const claim = isObject(payload) ? ownMember(payload, name) : undefined;
  if (claim === undefined) throw refusal(`it has no claim ${name}, which jwt_auth/required_claims requires`);
  if (value !== undefined && claim !== value) throw refusal(`its claim ${name} does not hold`);
}

/** Turns what the check of a token failed with into `unauthorized`; errors with a code pass. */
export function refuse(error: unknown): never {
  if (error instanceof DatabaseError) throw error;
  if (error instanceof errors.JWTExpired) throw refusal('it has expired');
  if (error instanceof errors.JWTClaimValidationFailed) throw refusal(`its claim ${error.claim} does not hold`);
  throw refusal("it can't be read, or its signature is wrong");
}

export function refusal(why: string): DatabaseError {
  return new DatabaseError('unauthorized', `The bearer token is refused: ${why}.`);
}
