/** How many replications users may ask for by requests. Each is kept until it is done, or cancelled. */
import type { DatabaseUser } from '../../database/contract.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import { RetryLaterError } from '../../errors/retry-later.ts';
import { isAdmin, userKey } from '../user-key.ts';
import type { Job } from './job.ts';
import type { ReplicatorSettings } from './replicator-settings.ts';

const RETRY_AFTER_S = 60;

/** Fails with `too_many_requests` where the user has as many as one may have, and with `too_busy` where all users together have. Admins may have any number. */
export function assertMayAsk(user: DatabaseUser, jobs: Iterable<Job>, settings: ReplicatorSettings): void {
  if (isAdmin(user)) return;
  const key = userKey(user);
  let own = 0;
  let all = 0;
  for (const { order } of jobs) {
    if (order.origin !== undefined || isAdmin(order.owner)) continue;
    all++;
    if (userKey(order.owner) === key) own++;
  }
  if (own >= settings.maxJobsPerUser) {
    const who = user.name === null ? 'Clients without a name have' : `The user ${user.name} has`;
    const reason = `${who} ${own} replications under way, as many as replicator/max_jobs_per_user permits. Cancel some of them, or wait until they are done.`;
    throw new RetryLaterError('too_many_requests', reason, RETRY_AFTER_S);
  }
  if (all < settings.maxJobsOfUsers) return;
  const reason = `There are ${all} replications that users have asked for, as many as replicator/max_jobs_of_users permits. Try again later.`;
  throw new DatabaseError('too_busy', reason);
}
