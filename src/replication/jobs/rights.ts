/**
 * Whether those still have their rights who have asked for replications (docs/http/replication.md#rights-of-replications): a replication may go on for
 * years, and what it was asked with, be it an account or a role, may be gone by then.
 */

import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import type { DatabaseUser } from '../../database/store/contract.ts';
import type { Replication, Standing, Standings, WhyEnded } from '../contract.ts';
import { RightsEnded } from '../failure.ts';

const ADMIN_ROLE = '_admin';

/** The user of a request by now, as far as the request's credentials tell; undefined where they hold no more. */
export type Recheck = () => MaybePromise<DatabaseUser | undefined>;

/** Of a request. `recheck`: undefined where there were no credentials, or where they are not known any more. */
export function rightsOfRequest(
  user: DatabaseUser,
  recheck: Recheck | undefined,
  standings: Standings | undefined,
): WhyEnded | undefined {
  if (recheck !== undefined) {
    return async () => {
      const now = await recheck();
      return now === undefined ? gone(user.name) : whyNot(user, { kind: 'account', roles: now.roles }, false);
    };
  }
  return standings && (async () => whyNot(user, await standings.of(user.name), false));
}

/**
 * Of a document. Its owner answers for it: an admin may have named any user in `user_ctx`, or none, and is then an admin still; other
 * owners have named themselves.
 */
export function rightsOfDocument(
  owner: DatabaseUser['name'],
  context: DatabaseUser | undefined,
  standings: Standings | undefined,
): WhyEnded | undefined {
  if (standings === undefined) return undefined;
  return async () => {
    const isAdmin = whyNot({ name: owner, roles: [ADMIN_ROLE] }, await standings.of(owner), false) === undefined;
    const isOwn = context !== undefined && context.name !== null && context.name === owner;
    if (!isAdmin && !isOwn) return `${whoOf(owner)}, who wrote the document, is no server admin any more.`;
    return context === undefined ? undefined : whyNot(context, await standings.of(context.name), isAdmin);
  };
}

/** Fails with `RightsEnded`. */
export function assertRights({ whyEnded }: Replication): MaybePromise<void> {
  if (whyEnded === undefined) return undefined;
  return whenReady(whyEnded(), (why) => {
    if (why !== undefined) throw new RightsEnded(why);
  });
}

/** `isVouchedFor`: an admin has named the user, who needs no account. */
function whyNot({ name, roles }: DatabaseUser, standing: Standing, isVouchedFor: boolean): string | undefined {
  if (name === null && isVouchedFor) return undefined;
  if (standing.kind === 'gone') return gone(name);
  if (standing.kind === 'unknown') return standing.mayLogIn || isVouchedFor ? undefined : gone(name);
  if (standing.roles.includes(ADMIN_ROLE)) return undefined;
  const lost = roles.find((role) => !standing.roles.includes(role));
  if (lost === undefined) return undefined;
  return `${whoOf(name)} had the role ${lost} when this replication was asked for, and has it no more.`;
}

function gone(name: string | null): string {
  if (name === null) return 'Clients without a name, one of whom has asked for this replication, are refused now.';
  return `${whoOf(name)} has asked for this replication, and the account or the credentials hold no more.`;
}

function whoOf(name: string | null): string {
  return name === null ? 'A client without a name' : `The user ${name}`;
}
