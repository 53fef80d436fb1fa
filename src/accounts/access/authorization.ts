/** Whether a user has a right (docs/http/accounts.md#access-rights). */
import { DatabaseError } from '../../base/errors/database-error.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import type { RequestUser } from '../../base/shared/message.ts';
import type { Access } from './access.ts';
import { isDatabaseAdmin, isMember, isServerAdmin, parseSecurity, type Security } from './security.ts';

interface NeededRight {
  readonly right: 'anyone' | 'member' | 'databaseAdmin' | 'serverAdmin';
  readonly database: string | undefined;
}

const NO_DATABASE = parseSecurity('{}');

/** Returns the security object of the database: synchronously if the database is open. Fails with `unauthorized`. */
export function authorizeUser(
  access: Access,
  user: RequestUser,
  { right, database }: NeededRight,
): MaybePromise<Security> {
  if (right === 'anyone' || isServerAdmin(user)) return NO_DATABASE;
  if (right === 'serverAdmin' || database === undefined) throw refusal('You are not a server admin.');
  return whenReady(access.securityOf(database), (security) => {
    if (right === 'databaseAdmin' && !isDatabaseAdmin(user, security)) {
      throw refusal('You are not a db or server admin.');
    }
    if (!isMember(user, security)) throw refusal('You are not authorized to access this db.');
    return security;
  });
}

function refusal(reason: string): DatabaseError {
  return new DatabaseError('unauthorized', reason);
}
