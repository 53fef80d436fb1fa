/** The name of a user's database, and who may use it (docs/http/accounts.md#a-database-per-user). */
import { SERVER_ADMIN_ROLE } from '../../accounts/contract.ts';
import { isObject, type JsonObject, ownMember } from '../../base/json/objects.ts';

/** As elsewhere in the family. The role keeps a database closed in which no user is named any more: one without members is everyone's. */
export const NEW_SECURITY = JSON.stringify({
  admins: { names: [], roles: [SERVER_ADMIN_ROLE] },
  members: { names: [], roles: [SERVER_ADMIN_ROLE] },
});

/** Two digits for each byte, so that no two users have one database. */
export function databaseOfUser(prefix: string, user: string): string {
  return `${prefix}${Buffer.from(user).toString('hex')}`;
}

/** Returns the text of the security object with the user as an admin and a member; undefined if that is so. */
export function withUser(text: string, user: string): string | undefined {
  return changed(text, (names) => (names.includes(user) ? names : [user, ...names]));
}

/** Returns it without the user; undefined if it does not name the user. A database whose last member goes is for server admins only. */
export function withoutUser(text: string, user: string): string | undefined {
  return changed(text, (names) => names.filter((name) => name !== user));
}

function changed(text: string, change: (names: readonly unknown[]) => readonly unknown[]): string | undefined {
  const parsed: unknown = JSON.parse(text);
  const security: JsonObject = isObject(parsed) ? parsed : {};
  // `readers` is an old name of `members`, which would be ignored beside it.
  const members = ownMember(security, 'members') ?? ownMember(security, 'readers');
  const admins = withNames(ownMember(security, 'admins'), change);
  const group = withNames(members, change);
  if (!admins.isChanged && !group.isChanged) return undefined;
  const { readers: _, ...others } = security;
  return JSON.stringify({ ...others, admins: admins.group, members: closed(group.group) });
}

function withNames(group: unknown, change: (names: readonly unknown[]) => readonly unknown[]) {
  const { names: given, ...others }: JsonObject = isObject(group) ? group : {};
  const before: readonly unknown[] = Array.isArray(given) ? given : [];
  const names = change(before);
  const isChanged = names.length !== before.length;
  return { isChanged, group: { names, roles: [] as unknown, ...others } };
}

function closed(members: { readonly names: readonly unknown[]; readonly roles: unknown }): JsonObject {
  const isOpen = members.names.length === 0 && Array.isArray(members.roles) && members.roles.length === 0;
  return isOpen ? { ...members, roles: [SERVER_ADMIN_ROLE] } : members;
}
