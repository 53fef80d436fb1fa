/** A user who can log in: a server admin of the configuration, or a document of the users' database (docs/http/accounts.md). */

import { type JsonObject, ownMember } from '../../base/json/objects.ts';
import type { RequestUser } from '../../base/shared/message.ts';
import type { RevId } from '../../database/documents/contract.ts';
import { SERVER_ADMIN_ROLE } from '../contract.ts';
import { hashOfAdmin, hashOfUser, type PasswordHash } from '../passwords/password-hash.ts';

export interface Account {
  readonly name: string;
  readonly roles: readonly string[];
  readonly kind: 'admin' | 'user';
  /** Undefined if no one can log in with a password. */
  readonly hash: PasswordHash | undefined;
  /** Whether the user's document has conflicting revisions. */
  readonly hasConflicts: boolean;
}

/** A live document of a user. */
export interface UserDocument {
  readonly rev: RevId;
  readonly body: JsonObject;
  readonly hasConflicts: boolean;
}

/** Returns an account even if the document broke the rules when it was written: roles that begin with an underscore belong to the service. */
export function accountOfUser(name: string, { body, hasConflicts }: UserDocument): Account | undefined {
  if (ownMember(body, 'name') !== name) return undefined;
  return { name, roles: rolesOf(body), kind: 'user', hash: hashOfUser(body), hasConflicts };
}

/** A server admin also has the roles of the user document of that name. */
export function accountOfAdmin(name: string, text: string, document: UserDocument | undefined): Account {
  const roles = document === undefined ? [] : rolesOf(document.body);
  return { name, roles: [SERVER_ADMIN_ROLE, ...roles], kind: 'admin', hash: hashOfAdmin(text), hasConflicts: false };
}

export function userOf({ name, roles }: Account): RequestUser {
  return { name, roles };
}

/** What sessions and cached passwords depend on besides the name: it differs after the password was changed. */
export function saltOf({ hash }: Account): string {
  return hash?.salt ?? '';
}

function rolesOf(body: JsonObject): readonly string[] {
  const roles = ownMember(body, 'roles');
  if (!Array.isArray(roles)) return [];
  return roles.filter((role): role is string => typeof role === 'string' && !role.startsWith('_'));
}
