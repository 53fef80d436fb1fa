/**
 * The one place that decides who may do what (docs/http.md#access-rights). Each route names the right
 * that it needs, and the router asks here before it calls the handler.
 *
 * There is no authentication yet, so everyone is the server's admin, as in any service of this family that has no admin
 * configured ("admin party"). Membership and a database's own admins come with it: they need the security object, which
 * is at hand in `use` of the registry.
 */
import { DatabaseError } from '../../errors/database-error.ts';
import type { Context } from '../request/context.ts';
import { ADMIN_PARTY, SERVER_ADMIN_ROLE, type User } from '../request/user.ts';

/** `anyone`, a member or an admin of the database, or an admin of the server. */
export type Right = 'anyone' | 'member' | 'databaseAdmin' | 'serverAdmin';

function identify(_context: Context): User {
  return ADMIN_PARTY;
}

/** Fails with `unauthorized`. */
export function authorize(context: Context, right: Right): void {
  if (right === 'anyone') return;
  context.user ??= identify(context);
  if (context.user.roles.includes(SERVER_ADMIN_ROLE)) return;
  if (right === 'serverAdmin') throw new DatabaseError('unauthorized', 'You are not a server admin.');
  if (right === 'databaseAdmin') throw new DatabaseError('unauthorized', 'You are not a db or server admin.');
  throw new DatabaseError('unauthorized', 'You are not authorized to access this db.');
}
