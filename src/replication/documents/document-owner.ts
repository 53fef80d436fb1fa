/** Who is responsible for a document of `_replicator`. */
import { isObject, type JsonObject, ownMember } from '../../base/json/objects.ts';
import { REPLICATOR_DATABASE } from '../../base/system/contract.ts';
import type { DatabaseUser } from '../../database/store/contract.ts';
import type { Asker } from '../contract.ts';
import { isAdmin } from '../user-key.ts';

/** Returns the user who may cancel it. `isServerAdmin`: whether a user of that name is a server admin. */
export function ownerOf(document: JsonObject, isServerAdmin: (name: string) => boolean): DatabaseUser {
  const owner = ownMember(document, 'owner');
  const name = typeof owner === 'string' ? owner : null;
  const isByAdmin = name !== null && isServerAdmin(name) && !isOfPlainUser(document, name);
  return { name, roles: isByAdmin || hasAdminRights(document) ? ['_admin'] : [] };
}

/**
 * The writer. Only admins can name another owner, or roles that they lack. Passwords that non-admins' documents try here count
 * together: accounts are easy to create.
 */
export function askerOf({ name, roles }: DatabaseUser): Asker {
  const byAdmin = `${REPLICATOR_DATABASE}/${encodeURIComponent(name ?? '')}`;
  return isAdmin({ roles }) ? { isAdmin: true, address: byAdmin } : { isAdmin: false, address: REPLICATOR_DATABASE };
}

/** A proxy or a token may name a user like an admin, without the rights: users' documents have no other `user_ctx` than their own. */
function isOfPlainUser(document: JsonObject, name: string): boolean {
  const context = ownMember(document, 'user_ctx');
  return isObject(context) && ownMember(context, 'name') === name;
}

/** Only admins can write such documents. */
function hasAdminRights(document: JsonObject): boolean {
  const context = ownMember(document, 'user_ctx');
  if (context === undefined) return true;
  const roles = isObject(context) ? ownMember(context, 'roles') : undefined;
  return Array.isArray(roles) && roles.includes('_admin');
}
