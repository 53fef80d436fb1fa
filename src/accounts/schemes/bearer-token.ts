/**
 * `Authorization: Bearer` with a JSON Web Token (RFC 7519; docs/http/accounts.md#json-web-tokens). The configuration holds its keys. The token's
 * algorithm determines the kind of key, so that no public key is ever used as a shared secret.
 */
import { errors, importSPKI, type JWTHeaderParameters, type JWTPayload, jwtVerify } from 'jose';
import { DatabaseError } from '../../base/errors/database-error.ts';
import { isObject, ownMember } from '../../base/json/objects.ts';
import { fromBase64 } from '../../base/shared/bytes.ts';
import type { Clock } from '../../base/shared/clock.ts';
import type { RequestUser } from '../../base/shared/message.ts';
import type { Config } from '../../base/system/contract.ts';
import { type RequiredClaim, requiredClaims } from '../../base/system/token-claims.ts';
import { outsideRoles } from './proxy-headers.ts';

const SECTION = 'jwt_keys';
const NO_ID = '_default';
const ROLES_CLAIM = '_couchdb.roles';
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

export interface RecognisedToken {
  readonly user: RequestUser;
  /** Milliseconds since the epoch; undefined for a token that never expires. */
  readonly until: number | undefined;
  /** The name of the configured key that signed it. */
  readonly keyName: string;
  readonly keyText: string | undefined;
}

/** Fails with `unauthorized`. */
export async function recogniseToken(config: Config, clock: Clock, token: string): Promise<RecognisedToken> {
  let keyName = '';
  const keyOf = (header: JWTHeaderParameters) => {
    keyName = keyNameOf(header);
    return importKey(config.get(SECTION, keyName), header.alg);
  };
  const { payload } = await jwtVerify(token, keyOf, { currentDate: new Date(clock.now()) }).catch(refuse);
  for (const claim of requiredClaims(config)) assertClaim(payload, claim);
  const until = payload.exp === undefined ? undefined : payload.exp * 1000;
  return { user: userOf(payload), until, keyName, keyText: config.get(SECTION, keyName) };
}

/** Whether the configuration still has the same key. */
export function isCurrentToken(config: Config, { keyName, keyText }: RecognisedToken): boolean {
  return keyText !== undefined && config.get(SECTION, keyName) === keyText;
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

function userOf(payload: JWTPayload): RequestUser {
  const { sub: name } = payload;
  if (typeof name !== 'string' || name === '') throw refusal('it does not name its user');
  const roles = isObject(payload) ? ownMember(payload, ROLES_CLAIM) : undefined;
  const texts = Array.isArray(roles) ? roles.filter((role): role is string => typeof role === 'string') : [];
  return { name, roles: outsideRoles(texts) };
}

function assertClaim(payload: JWTPayload, { name, value }: RequiredClaim): void {
  const claim = isObject(payload) ? ownMember(payload, name) : undefined;
  if (claim === undefined) throw refusal(`it has no claim ${name}, which jwt_auth/required_claims requires`);
  if (value !== undefined && claim !== value) throw refusal(`its claim ${name} does not hold`);
}

function refuse(error: unknown): never {
  if (error instanceof DatabaseError) throw error;
  if (error instanceof errors.JWTExpired) throw refusal('it has expired');
  if (error instanceof errors.JWTClaimValidationFailed) throw refusal(`its claim ${error.claim} does not hold`);
  throw refusal("it can't be read, or its signature is wrong");
}

function refusal(why: string): DatabaseError {
  return new DatabaseError('unauthorized', `The bearer token is refused: ${why}.`);
}
