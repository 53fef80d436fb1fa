/**
 * Checks that users who requested replications still have their rights (docs/http/replication.md#rights-of-replications): a replication may run for
 * years, and the account or role that it was requested with may be gone by then.
 */

import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import type { DatabaseUser } from '../../database/store/contract.ts';
import type { Replication, Standing, Standings, WhyEnded } from '../contract.ts';
import { RightsEnded } from '../failure.ts';

const ADMIN_ROLE = '_admin';

/** Returns the user as the request's credentials stand now; undefined if they are no longer valid. */
export type Recheck = () => MaybePromise<DatabaseUser | undefined>;

/** Who sent a request, and how long that holds. */
export interface RequestSender {
  readonly user: DatabaseUser;
  /** Undefined if there were no credentials, or if they are no longer known. Not kept after the core has ended. */
  readonly recheck?: Recheck | undefined;
  /** Milliseconds since the epoch: when the token of the request expires. */
  readonly until?: number | undefined;
}

export function rightsOfRequest(
  { user, recheck, until }: RequestSender,
  standings: Standings | undefined,
  now: () => number,
): WhyEnded | undefined {
  const whyEnded = recheck === undefined ? standings && byStanding(user, standings) : byCredentials(user, recheck);
  if (until === undefined) return whyEnded;
  return () => (until <= now() ? expired(user.name) : whyEnded?.());
}

function byCredentials(user: DatabaseUser, recheck: Recheck): WhyEnded {
  return async () => {
    const now = await recheck();
    return now === undefined ? gone(user.name) : whyNot(user, { kind: 'account', roles: now.roles }, false);
  };
}

function byStanding(user: DatabaseUser, standings: Standings): WhyEnded {
  return async () => whyNot(user, await standings.of(user.name), false);
}

/**
 * For a document. Its owner is responsible for it: an admin may have named any user in `user_ctx`, or none, and must still be an admin; other
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
    if (!isAdmin && !isOwn) return `${whoOf(owner)}, who wrote the document, is no longer a server admin.`;
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
  return `${whoOf(name)} had the role ${lost} when this replication was requested, and no longer has it.`;
}

function gone(name: string | null): string {
  if (name === null) return 'A client without a name requested this replication, and such clients are refused now.';
  return `${whoOf(name)} requested this replication, and the account or the credentials are no longer valid.`;
}

function expired(name: string | null): string {
  return `${whoOf(name)} requested this replication with a token, which has expired. Send the request again with a new one.`;
}

function whoOf(name: string | null): string {
  return name === null ? 'A client without a name' : `The user ${name}`;
}
