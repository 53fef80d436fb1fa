/** The section `jwt_issuers`: the OpenID providers whose tokens the server trusts (docs/http/accounts.md#openid-providers). */
import type { TokenConfig } from '../../accounts/contract.ts';
import { claimPath } from '../../accounts/schemes/roles-claim.ts';
import { DatabaseError } from '../../base/errors/database-error.ts';
import { isObject, type JsonObject, ownMember } from '../../base/json/objects.ts';
import type { Config } from '../../base/system/contract.ts';

export const ISSUERS_SECTION = 'jwt_issuers';

const DEFAULT_KEY_AGE_S = 600;
const MAX_KEY_AGE_S = 86_400;
const MAX_AUDIENCES = 100;

export interface TrustedIssuer {
  /** The key of the setting. */
  readonly name: string;
  /** The value of the setting: any change of it makes another issuer. */
  readonly text: string;
  /** What the claim `iss` must be, character by character. */
  readonly issuer: string;
  /** Where its keys are; undefined if its configuration below `issuer` says so. */
  readonly jwksUrl: string | undefined;
  /** Empty: for any audience. */
  readonly audiences: readonly string[];
  /** Undefined: as `jwt_auth` says. */
  readonly rolesPath: readonly string[] | undefined;
  readonly namePrefix: string;
  /** How long fetched keys are used, in milliseconds. */
  readonly maxKeyAgeMs: number;
}

const MEMBERS: readonly string[] = [
  'issuer',
  'jwks_url',
  'audiences',
  'roles_claim_path',
  'name_prefix',
  'max_key_age_seconds',
];

/**
 * Returns the check of the section, for one set of settings. It fails with `bad_request` on a value that does not describe an issuer, and on a second one
 * with the same `issuer`, which would never count.
 */
export function createIssuerCheck(): (config: Config, section: string, key: string) => void {
  /** All that were checked, since a check is not told what other keys there are. */
  const names = new Set<string>();
  return (config, _section, key) => {
    const { issuer } = parseIssuer(key, config.get(ISSUERS_SECTION, key) ?? '');
    for (const other of names) {
      const text = config.get(ISSUERS_SECTION, other);
      if (text === undefined) names.delete(other);
      else if (other !== key && ownMember(parseJson(text) ?? {}, 'issuer') === issuer) throw twice(key, other);
    }
    names.add(key);
  };
}

function twice(key: string, other: string): DatabaseError {
  const reason = `Setting ${ISSUERS_SECTION}/${key} has the "issuer" of ${ISSUERS_SECTION}/${other}, and only one of them could count. Change that one, or delete it first.`;
  return new DatabaseError('bad_request', reason);
}

/** Returns the trusted issuer with that claim `iss`; undefined if there is none. */
export function findIssuer(config: TokenConfig, issuer: string): TrustedIssuer | undefined {
  const found = Object.entries(config.section(ISSUERS_SECTION)).find(([, text]) => {
    const value = parseJson(text);
    return value !== undefined && ownMember(value, 'issuer') === issuer;
  });
  return found && parseIssuer(...found);
}

/** Fails with `bad_request`. */
export function parseIssuer(name: string, text: string): TrustedIssuer {
  const fail = (rule: string): never => {
    const reason = `Setting ${ISSUERS_SECTION}/${name} does not describe a token issuer; it must be ${rule}.`;
    throw new DatabaseError('bad_request', reason);
  };
  const value = parseJson(text);
  if (value === undefined)
    return fail('a JSON object such as {"issuer": "https://login.example.org", "audiences": ["my-app"]}');
  const unknown = Object.keys(value).find((member) => !MEMBERS.includes(member));
  if (unknown !== undefined)
    return fail(`an object with no other members than ${MEMBERS.join(', ')}: it has ${JSON.stringify(unknown)}`);
  const issuer = ownMember(value, 'issuer');
  if (typeof issuer !== 'string' || !isSafeUrl(issuer) || issuer.includes('?'))
    return fail(`an object whose "issuer" is ${URL_RULE}, and has no query`);
  const jwksUrl = ownMember(value, 'jwks_url');
  if (jwksUrl !== undefined && (typeof jwksUrl !== 'string' || !isSafeUrl(jwksUrl)))
    return fail(`an object whose "jwks_url" is ${URL_RULE}`);
  const audiences = ownMember(value, 'audiences') ?? [];
  if (!isTexts(audiences))
    return fail(`an object whose "audiences" is an array of at most ${MAX_AUDIENCES} texts, none of them empty`);
  const path = ownMember(value, 'roles_claim_path');
  if (path !== undefined && (typeof path !== 'string' || claimPath(path).length === 0))
    return fail('an object whose "roles_claim_path" is a path such as realm_access.roles');
  const namePrefix = ownMember(value, 'name_prefix') ?? '';
  if (typeof namePrefix !== 'string' || !/^\P{Cc}{0,100}$/u.test(namePrefix))
    return fail('an object whose "name_prefix" is a text of at most 100 characters, without control characters');
  const ageS = ownMember(value, 'max_key_age_seconds') ?? DEFAULT_KEY_AGE_S;
  if (typeof ageS !== 'number' || !Number.isSafeInteger(ageS) || ageS < 1 || ageS > MAX_KEY_AGE_S)
    return fail(`an object whose "max_key_age_seconds" is a whole number from 1 to ${MAX_KEY_AGE_S}`);
  const rolesPath = path === undefined ? undefined : claimPath(path);
  return { name, text, issuer, jwksUrl, audiences, rolesPath, namePrefix, maxKeyAgeMs: ageS * 1000 };
}

const URL_RULE =
  'an https: address without user and fragment (http: only for an address of this machine, such as http://localhost:9000)';

/** Whether nobody on the way can change what is read there. */
export function isSafeUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.username !== '' || url.password !== '' || url.hash !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url));
}

/** Whether the address is one of this machine, whatever resolves names. */
export function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

function parseJson(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isTexts(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) &&
    value.length <= MAX_AUDIENCES &&
    value.every((text: unknown) => typeof text === 'string' && text !== '')
  );
}
