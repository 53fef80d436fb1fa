/**
 * The one place that decides who may do what (docs/http/accounts.md#access-rights). Each route names the right that it needs, and what
 * members who are not admins may do with it in system databases; the router asks here before it calls the handler.
 */
import { authorizeUser } from '../../accounts/access/access.ts';
import { isDatabaseAdmin, isServerAdmin } from '../../accounts/access/security.ts';
import { DatabaseError } from '../../base/errors/database-error.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import { readChangeParameters } from '../changes/change-parameters.ts';
import type { Context, Right } from '../request/context.ts';
import type { AccountsPart } from '../server/accounts/accounts-part.ts';

/**
 * What members who are not admins may do with a resource of a system database, some of whose documents they must not see.
 *
 * - `own`: all that they may do elsewhere; writes have their own rules there
 * - `shown`: what they may see of the document; the handler asks the restriction
 * - `list`, `changes`: if the restriction permits it
 * - `functions`: nothing, since functions of design documents see whole documents
 */
export type SystemRule = 'own' | 'shown' | 'list' | 'changes' | 'functions';

export interface Needed {
  readonly right: Right;
  /** Undefined: only admins. */
  readonly inSystem: SystemRule | undefined;
}

/** Fails with `unauthorized`, or with `forbidden`. Synchronous if the database is open. */
export function authorize(
  context: Context,
  { right, inSystem }: Needed,
  database: string | undefined,
  accounts: () => MaybePromise<AccountsPart>,
): MaybePromise<void> {
  if (right === 'anyone') return;
  context.grant = { right, database };
  const { user, services } = context;
  if (isServerAdmin(user)) return;
  return whenReady(authorizeUser(services.access, user, context.grant), (security) => {
    if (database === undefined || !services.access.isSystemDatabase(database)) return;
    if (isDatabaseAdmin(user, security)) return;
    return whenReady(accounts(), (part) => {
      context.restriction = part.shieldOf(database, user);
      if (context.restriction !== undefined) checkRule(context, inSystem);
    });
  });
}

function checkRule(context: Context, rule: SystemRule | undefined): void {
  const { restriction } = context;
  if (rule === 'own' || rule === 'shown') return;
  if (rule === 'list') {
    if (restriction?.maySeeList === true) return;
    throw new DatabaseError('forbidden', 'Only admins can access _all_docs of system databases.');
  }
  if (rule === 'functions') {
    const reason = 'Only admins can access design document actions for system databases.';
    throw new DatabaseError('forbidden', reason);
  }
  if (rule === 'changes' && restriction?.maySeeChanges === true && !seesDocuments(context)) return;
  throw new DatabaseError('unauthorized', 'You are not a db or server admin.');
}

/** Uses the same reader as the handler: parameter names of `_changes` are case-insensitive. */
function seesDocuments(context: Context): boolean {
  const { includeDocs, filter } = readChangeParameters(context);
  return includeDocs || filter !== undefined;
}
