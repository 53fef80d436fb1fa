/** Bounds the replications that users may request. Each is kept until it is done, or cancelled. */

import { DatabaseError, RetryLaterError } from '../../base/errors/database-error.ts';
import { networkOf } from '../../base/system/network-of.ts';
import type { DatabaseUser } from '../../database/store/contract.ts';
import type { Selection } from '../contract.ts';
import { isAdmin, userKey } from '../user-key.ts';
import { type Job, selectionBytes } from './job.ts';
import type { ReplicatorSettings } from './replicator-settings.ts';

const RETRY_AFTER_S = 60;
/** For one address, even if few are free. */
const FEW_OF_ADDRESS = 50;

/** What the bounds count. */
export interface Asked {
  readonly owner: DatabaseUser;
  /** IP address of the client; undefined if it is not known. */
  readonly address: string | undefined;
}

/** Approximate memory for the ids, selectors and parameters of all replications that users have requested, and for those of one user. */
const MAX_BYTES = 100_663_296;
const MAX_BYTES_PER_USER = 67_108_864;
/**
 * Fails with `too_large` if the selection takes more than a user may have, and with `too_many_requests` or `too_busy` if it does together
 * with the existing ones. Admins have no limit.
 */
export function assertSelectionFits(owner: DatabaseUser, selection: Selection | undefined, jobs: Iterable<Job>): void {
  const bytes = isAdmin(owner) ? 0 : selectionBytes(selection);
  if (bytes === 0) return;
  const remedy = 'Name fewer documents, or use a selector or a filter.';
  if (bytes > MAX_BYTES_PER_USER) {
    const reason = `The document ids and filter parameters of this replication take more than ${MAX_BYTES_PER_USER} bytes of memory, the maximum for one user. ${remedy}`;
    throw new DatabaseError('too_large', reason);
  }
  const key = userKey(owner);
  let own = bytes;
  let all = bytes;
  for (const { order, user, selectionBytes: kept } of jobs) {
    if (kept === 0 || isAdmin(order.owner)) continue;
    all += kept;
    if (user === key) own += kept;
  }
  if (own > MAX_BYTES_PER_USER) {
    const reason = `The document ids and filter parameters of your replications take more than ${MAX_BYTES_PER_USER} bytes of memory together, the maximum for one user. Cancel some of the replications. ${remedy}`;
    throw new RetryLaterError('too_many_requests', reason, RETRY_AFTER_S);
  }
  if (all <= MAX_BYTES) return;
  const reason = `The document ids and filter parameters of all users' replications take more than ${MAX_BYTES} bytes of memory together, the maximum. Try again later. ${remedy}`;
  throw new DatabaseError('too_busy', reason);
}

/**
 * Fails with `too_many_requests` if the user has the maximum number, or the address as many as are left for others, and with `too_busy` if
 * all users together have. Accounts are easy to create: so one address has at most half of all, the next one half of what is left, and so
 * on. Admins have no limit.
 */
export function assertMayAsk({ owner, address }: Asked, jobs: Iterable<Job>, settings: ReplicatorSettings): void {
  if (isAdmin(owner)) return;
  const key = userKey(owner);
  const network = address === undefined ? '' : networkOf(address);
  let own = 0;
  let fromThere = 0;
  let all = 0;
  for (const { order, user } of jobs) {
    if (order.origin !== undefined || isAdmin(order.owner)) continue;
    all++;
    if (user === key) own++;
    if (network !== '' && networkOf(order.replication.asker.address ?? '') === network) fromThere++;
  }
  if (own >= settings.maxJobsPerUser) {
    const who = owner.name === null ? 'Clients without a name have' : `The user ${owner.name} has`;
    const reason = `${who} ${own} replications under way, as many as replicator/max_jobs_per_user permits. Cancel some of them, or wait until they are done.`;
    throw new RetryLaterError('too_many_requests', reason, RETRY_AFTER_S);
  }
  if (all >= settings.maxJobsOfUsers) {
    const reason = `Users have ${all} replications under way, as many as replicator/max_jobs_of_users permits. Try again later.`;
    throw new DatabaseError('too_busy', reason);
  }
  if (fromThere < FEW_OF_ADDRESS || fromThere < settings.maxJobsOfUsers - all) return;
  const reason = `Clients at this address have ${fromThere} replications under way. The rest of those that replicator/max_jobs_of_users permits is reserved for other addresses. Cancel some of them, or wait until they are done.`;
  throw new RetryLaterError('too_many_requests', reason, RETRY_AFTER_S);
}
