/** The message of a failed replication, and when it is retried. */
import { DatabaseError } from '../../base/errors/database-error.ts';
import { ReplicationError } from '../failure.ts';

const FIRST_WAIT_MS = 5_000;

/** Returns the wait after so many consecutive failures: it doubles, and is never less than the peer asked for. */
export function backOffMs(failures: number, failure: unknown): number {
  const asked = failure instanceof ReplicationError ? (failure.retryAfterMs ?? 0) : 0;
  return Math.max(asked, FIRST_WAIT_MS * 2 ** (failures - 1));
}

/** A text for people. Foreign errors may contain anything, so nothing of them is shown. */
export function failureText(failure: unknown): string {
  if (failure instanceof DatabaseError) return `${failure.code}: ${failure.reason}`;
  return 'unknown_error: The replication failed for a reason that the service did not foresee; its log tells more.';
}
