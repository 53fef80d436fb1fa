/** What user documents must look like, and who may write which of them (docs/http/accounts.md#writing-users). */
import { DatabaseError } from '../../base/errors/database-error.ts';
import { isObject, type JsonObject, ownMember } from '../../base/json/objects.ts';
import type { DocumentWrite } from '../../database/store/contract.ts';
import { MAX_NAME_LENGTH, USER_PREFIX } from '../contract.ts';
import { blocksOf } from '../passwords/key-derivation.ts';
import { isSalt, PASSWORD_MEMBERS, type PasswordHash, userMembers } from '../passwords/stored-password.ts';
import { asPrf, type IterationLimits, type Prf } from '../settings.ts';

export interface UserChange {
  readonly id: string;
  /** Undefined if there was none, or a deleted one. */
  readonly before: JsonObject | undefined;
  /** Undefined for a deletion. */
  readonly after: JsonObject | undefined;
}

export interface Writer {
  readonly name: string | null;
  /** Admin of the server, or of the users' database. */
  readonly isAdmin: boolean;
  /** Of hashes that a writer other than an admin sends. */
  readonly iterations: Pick<IterationLimits, 'least' | 'most'>;
  /** The function of hashes that this server makes. */
  readonly ownPrf: Prf;
}

/** Fails with `forbidden`, and with `bad_request` for a plain password: one that can be hashed has been replaced by its hash before. */
export function checkUserChange({ id, before, after }: UserChange, writer: Writer): void {
  if (after === undefined) {
    const isOwn = before !== undefined && writer.name !== null && ownMember(before, 'name') === writer.name;
    if (!writer.isAdmin && !isOwn) throw forbidden('Only admins may delete other user docs.');
    return;
  }
  if (Object.hasOwn(after, 'password')) throw new DatabaseError('bad_request', 'Password must be a string');
  const name = checkMembers(id, before, after);
  const roles = checkRoles(after);
  checkHash(after);
  if (!writer.isAdmin) {
    checkRights(name, roles, before, writer);
    checkIterations(before, after, writer);
  }
  if (roles.some((role) => role.startsWith('_'))) {
    throw forbidden('No system roles (starting with underscore) in users db.');
  }
  if (name.startsWith('_')) throw forbidden('Username may not start with underscore.');
  if (name.length > MAX_NAME_LENGTH) throw forbidden(`Usernames have at most ${MAX_NAME_LENGTH} characters.`);
  if (name.includes(':')) throw forbidden('Character `:` is not allowed in usernames.');
}

/** Returns the user's name. */
function checkMembers(id: string, before: JsonObject | undefined, after: JsonObject): string {
  const wasUser = before === undefined || ownMember(before, 'type') === 'user';
  if (!wasUser || ownMember(after, 'type') !== 'user') throw forbidden('doc.type must be user');
  const name = ownMember(after, 'name');
  if (typeof name !== 'string' || name === '') throw forbidden('doc.name is required');
  if (id !== `${USER_PREFIX}${name}`) throw forbidden('Doc ID must be of the form org.couchdb.user:name');
  if (before !== undefined && ownMember(before, 'name') !== name) throw forbidden('Usernames can not be changed.');
  return name;
}

function checkRoles(after: JsonObject): readonly string[] {
  const roles = ownMember(after, 'roles');
  if (roles === undefined || roles === null) throw forbidden('doc.roles must exist');
  if (!Array.isArray(roles)) throw forbidden('doc.roles must be an array');
  if (!roles.every((role): role is string => typeof role === 'string')) {
    throw forbidden('doc.roles can only contain strings');
  }
  return roles;
}

function checkHash(after: JsonObject): void {
  const member = (name: string) => ownMember(after, name);
  if (member('password_sha') !== undefined && typeof member('salt') !== 'string') {
    throw forbidden('Users with password_sha must have a salt: a string that was appended to the password.');
  }
  const salt = member('salt');
  if (typeof salt === 'string' && !isSalt(salt)) throw forbidden('salt must not be empty.');
  if (member('password_scheme') !== 'pbkdf2') return;
  if (typeof member('iterations') !== 'number') throw forbidden('iterations must be a number.');
  if (typeof member('derived_key') !== 'string') throw forbidden('derived_key must be a string.');
  if (typeof salt !== 'string') throw forbidden('salt must be a string.');
  const prf = member('pbkdf2_prf');
  if (prf !== undefined && asPrf(prf) === undefined) {
    throw forbidden('pbkdf2_prf must be sha, sha224, sha256, sha384 or sha512.');
  }
}

/**
 * Admins, and replications with their rights, bring accounts of other servers, with the iterations that those have. Other writers could send weak hashes, or
 * slow ones to keep the server busy: with a function that holds its thread, or with a long key, each part of which takes all iterations. A hash that
 * stays as it was is theirs to keep.
 */
function checkIterations(
  before: JsonObject | undefined,
  after: JsonObject,
  { iterations: { least, most }, ownPrf }: Writer,
): void {
  if (ownMember(after, 'password_scheme') !== 'pbkdf2') return;
  const isSame = (name: string) => before !== undefined && ownMember(before, name) === ownMember(after, name);
  if (PASSWORD_MEMBERS.every(isSame)) return;
  const prf = asPrf(ownMember(after, 'pbkdf2_prf') ?? 'sha') ?? 'sha';
  if (prf === 'sha224' && ownPrf !== 'sha224') throw forbidden('Only admins may bring hashes with sha224.');
  const given = Number(ownMember(after, 'iterations'));
  const iterations = given * blocksOf(prf, String(ownMember(after, 'derived_key')).length / 2);
  if (given < least) throw forbidden('Iteration count is too low for this server');
  if (iterations > most) throw forbidden('Iteration count is too high for this server');
}

function checkRights(name: string, roles: readonly string[], before: JsonObject | undefined, writer: Writer): void {
  const isOwn = writer.name === name;
  if (before === undefined) {
    // Everyone may sign up, and no one may sign up others while logged in.
    if (writer.name !== null && !isOwn) throw forbidden('You may only update your own user document.');
    if (roles.length > 0) throw forbidden('Only _admin may set roles');
    return;
  }
  if (!isOwn) throw forbidden('You may only update your own user document.');
  const former = ownMember(before, 'roles');
  const texts = Array.isArray(former) ? former : [];
  if (JSON.stringify([...texts].sort()) !== JSON.stringify([...roles].sort())) {
    throw forbidden('Only _admin may edit roles');
  }
}

function forbidden(reason: string): DatabaseError {
  return new DatabaseError('forbidden', reason);
}

const PASSWORD = 'password';

/** A write whose document has a password, which is replaced by its hash first (docs/http/accounts.md#passwords-of-users). */
export interface PlainPassword {
  readonly password: string;
  /** Returns the write as it is stored: without the plain password. */
  withHash(hash: PasswordHash): DocumentWrite;
}

/** Returns the write itself if there is nothing to hash. A password that is not a string stays in it, and `checkUserChange` refuses it. */
export function readPassword(write: DocumentWrite): DocumentWrite | PlainPassword {
  // Avoids parsing if the name does not occur. Any of its letters may be escaped.
  if (!/"password"|\\u/.test(write.body)) return write;
  const document: unknown = JSON.parse(write.body);
  if (!isObject(document) || !Object.hasOwn(document, PASSWORD)) return write;
  const password = ownMember(document, PASSWORD);
  if (password === null || write.deleted) return { ...write, body: bodyWith(document, {}, [PASSWORD]) };
  if (typeof password !== 'string') return write;
  return {
    password,
    withHash: (hash) => ({
      ...write,
      body: bodyWith(document, userMembers(hash), [PASSWORD, ...PASSWORD_MEMBERS]),
    }),
  };
}

/** Returns the document with a password's hash in place of the present one. */
export function bodyWith(
  document: Readonly<Record<string, unknown>>,
  members: Readonly<Record<string, string | number>>,
  without: readonly string[] = PASSWORD_MEMBERS,
): string {
  const kept = Object.entries(document).filter(([name]) => !without.includes(name));
  return JSON.stringify(Object.fromEntries([...kept, ...Object.entries(members)]));
}
