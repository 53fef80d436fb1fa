/**
 * How a password is stored, in the two places that hold accounts: members of a user document, and the text of a server admin in the
 * configuration (docs/http/server.md#settings). A malformed hash counts as none: no one logs in with it.
 */
import { type JsonObject, ownMember } from '../../base/json/objects.ts';
import { asPrf, type Prf } from '../settings.ts';

export type PasswordHash =
  | {
      readonly scheme: 'pbkdf2';
      readonly prf: Prf;
      /** Hexadecimal digits in lower case. */
      readonly key: string;
      /** Used as text. */
      readonly salt: string;
      readonly iterations: number;
    }
  /** SHA-1 of password and salt: what versions before 1.3 stored. */
  | { readonly scheme: 'simple'; readonly key: string; readonly salt: string };

const HEX = /^(?:[\da-f]{2}){16,64}$/i;
const BLANK = /^\0*$/;
const ADMIN_PREFIX = { simple: '-hashed-', pbkdf2: '-pbkdf2-', named: '-pbkdf2:' } as const;

/** Returns the hash of a user document; undefined if it has none, so that no one logs in with a password. */
export function hashOfUser(document: JsonObject): PasswordHash | undefined {
  const member = (name: string) => ownMember(document, name);
  const salt = member('salt');
  if (typeof salt !== 'string') return undefined;
  if (member('password_scheme') === 'pbkdf2') {
    return pbkdf2Hash(member('pbkdf2_prf') ?? 'sha', member('derived_key'), salt, member('iterations'));
  }
  return simpleHash(member('password_sha'), salt);
}

/** Returns the hash in a server admin's configuration text; undefined if that is a plain password, or malformed. */
export function hashOfAdmin(text: string): PasswordHash | undefined {
  if (text.startsWith(ADMIN_PREFIX.simple)) {
    const [key, salt = ''] = splitAt(text.slice(ADMIN_PREFIX.simple.length), ',');
    return simpleHash(key, salt);
  }
  if (!isHashedAdmin(text)) return undefined;
  const isNamed = text.startsWith(ADMIN_PREFIX.named);
  const [prf, fields] = isNamed
    ? splitAt(text.slice(ADMIN_PREFIX.named.length), '-')
    : ['sha', text.slice(ADMIN_PREFIX.pbkdf2.length)];
  const [key, salt = '', iterations = ''] = fields.split(',');
  return pbkdf2Hash(prf, key, salt, Number(iterations));
}

/** Whether an admin's text is a hash rather than a plain password. A text that looks like a hash is never hashed again. */
export function isHashedAdmin(text: string): boolean {
  return Object.values(ADMIN_PREFIX).some((prefix) => text.startsWith(prefix));
}

/**
 * Whether a value is a usable salt. Sessions are signed with the service's secret followed by the salt: with an empty salt, or one of zeros, which
 * HMAC treats as nothing (RFC 2104, 2), a session's signature would be a proxy's token, which the secret alone signs.
 */
export function isSalt(value: unknown): value is string {
  return typeof value === 'string' && !BLANK.test(value);
}

/** Returns the members that store the hash in a user document. */
export function userMembers(hash: PasswordHash): Readonly<Record<string, string | number>> {
  if (hash.scheme === 'simple') return { password_scheme: 'simple', password_sha: hash.key, salt: hash.salt };
  const { prf, key, salt, iterations } = hash;
  const named = prf === 'sha' ? {} : { pbkdf2_prf: prf };
  return { password_scheme: 'pbkdf2', ...named, iterations, derived_key: key, salt };
}

/** Returns the text that stores a server admin's hash in the configuration. */
export function adminText(hash: PasswordHash): string {
  if (hash.scheme === 'simple') return `${ADMIN_PREFIX.simple}${hash.key},${hash.salt}`;
  const prefix = hash.prf === 'sha' ? ADMIN_PREFIX.pbkdf2 : `${ADMIN_PREFIX.named}${hash.prf}-`;
  return `${prefix}${hash.key},${hash.salt},${hash.iterations}`;
}

/** The names of members that store a password, in any scheme. */
export const PASSWORD_MEMBERS: readonly string[] = [
  'password_scheme',
  'pbkdf2_prf',
  'iterations',
  'derived_key',
  'salt',
  'password_sha',
];

function simpleHash(key: unknown, salt: string): PasswordHash | undefined {
  return isKey(key) && isSalt(salt) ? { scheme: 'simple', key: key.toLowerCase(), salt } : undefined;
}

function pbkdf2Hash(prf: unknown, key: unknown, salt: string, iterations: unknown): PasswordHash | undefined {
  const known = asPrf(prf);
  if (known === undefined || !isKey(key) || !isSalt(salt) || !isCount(iterations)) return undefined;
  return { scheme: 'pbkdf2', prf: known, key: key.toLowerCase(), salt, iterations };
}

function isKey(value: unknown): value is string {
  return typeof value === 'string' && HEX.test(value);
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1;
}

function splitAt(text: string, separator: string): readonly [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
