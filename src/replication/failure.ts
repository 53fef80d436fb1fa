/** The errors of a failed replication. */
import { DatabaseError, type ErrorCode } from '../base/errors/database-error.ts';

export interface FailureDetails {
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
