/** What a database's security object permits, and to whom (docs/http/databases.md#security-object). */
import { isObject, type JsonObject, ownMember } from '../../base/json/objects.ts';
import type { RequestUser } from '../../base/shared/message.ts';
import { SERVER_ADMIN_ROLE } from '../contract.ts';

export interface Security {
  readonly admins: Group;
  readonly members: Group;
}

interface Group {
  readonly names: ReadonlySet<unknown>;
  readonly roles: ReadonlySet<unknown>;
}

const NONE: Group = { names: new Set(), roles: new Set() };
const OPEN: Security = { admins: NONE, members: NONE };
const UNSET = '{}';

/** `text` is JSON text that was checked when it was set. `readers` is an old name of `members`. */
export function parseSecurity(text: string): Security {
  if (text === UNSET) return OPEN;
  const value: unknown = JSON.parse(text);
  if (!isObject(value)) return OPEN;
  return {
    admins: groupOf(value, 'admins'),
    members: ownMember(value, 'members') === undefined ? groupOf(value, 'readers') : groupOf(value, 'members'),
  };
}

export function isServerAdmin({ roles }: RequestUser): boolean {
  return roles.includes(SERVER_ADMIN_ROLE);
}

export function isDatabaseAdmin(user: RequestUser, { admins }: Security): boolean {
  return isServerAdmin(user) || isIn(user, admins);
}

/** If no member is named, everyone is a member. */
export function isMember(user: RequestUser, security: Security): boolean {
  const { names, roles } = security.members;
  return (names.size === 0 && roles.size === 0) || isIn(user, security.members) || isDatabaseAdmin(user, security);
}

function isIn({ name, roles }: RequestUser, group: Group): boolean {
  return (name !== null && group.names.has(name)) || roles.some((role) => group.roles.has(role));
}

function groupOf(security: JsonObject, member: string): Group {
  const group = ownMember(security, member);
  return isObject(group) ? { names: listOf(group, 'names'), roles: listOf(group, 'roles') } : NONE;
}

function listOf(group: JsonObject, member: string): ReadonlySet<unknown> {
  const list = ownMember(group, member);
  return new Set(Array.isArray(list) ? list : []);
}
