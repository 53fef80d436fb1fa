/** What a failed replication says, and when it is tried again. */
import { DatabaseError } from '../../base/errors/database-error.ts';
import { ReplicationError } from '../failure.ts';

const FIRST_WAIT_MS = 5_000;

/** How long to wait after so many failures in a row: doubling, and never less than the peer asked for. */
export function backOffMs(failures: number, failure: unknown): number {
  const asked = failure instanceof ReplicationError ? (failure.retryAfterMs ?? 0) : 0;
  return Math.max(asked, FIRST_WAIT_MS * 2 ** (failures - 1));
}

/** For people. What is not ours may hold anything, so nothing of it is shown. */
export function failureText(failure: unknown): string {
  if (failure instanceof DatabaseError) return `${failure.code}: ${failure.reason}`;
  return 'unknown_error: The replication failed for a reason that the service did not foresee; its log tells more.';
}
