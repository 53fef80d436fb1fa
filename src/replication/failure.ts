/** The errors of a failed replication: what they say, and when it is retried. */
import { DatabaseError, type ErrorCode } from '../base/errors/database-error.ts';

interface FailureDetails {
  /** Whether a retry can help: false if a person has to change something first. */
  readonly isRetryable: boolean;
  /** How long the peer asked to wait. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** See `ReplicationFailure` of the contract. */
export class ReplicationError extends DatabaseError {
  readonly isRetryable: boolean;
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, reason: string, { isRetryable, retryAfterMs, cause }: FailureDetails) {
    super(code, reason, { cause });
    this.name = 'ReplicationError';
    this.isRetryable = isRetryable;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The rights with which a replication was requested have ended: it does not go on, however often it is retried. */
export class RightsEnded extends ReplicationError {
  constructor(why: string) {
    super('unauthorized', why, { isRetryable: false });
    this.name = 'RightsEnded';
  }
}

export function cancelled(): ReplicationError {
  return new ReplicationError('cancelled', 'The replication was stopped.', { isRetryable: true });
}

const FIRST_WAIT_MS = 5_000;

/** Returns the wait after so many consecutive failures: it doubles, and is never less than the peer asked for. */
export function backOffMs(failures: number, failure: unknown): number {
  const asked = failure instanceof ReplicationError ? (failure.retryAfterMs ?? 0) : 0;
  return Math.max(asked, FIRST_WAIT_MS * 2 ** (failures - 1));
}

/** A text for people. Foreign errors may contain anything, so nothing of them is shown. */
export function failureText(failure: unknown): string {
  if (failure instanceof DatabaseError) return `${failure.code}: ${failure.reason}`;
  return 'unknown_error: The replication failed for an unexpected reason. The log of the service has details.';
}
