/** What a replication fails with. */
import { DatabaseError, type ErrorCode } from '../base/errors/database-error.ts';

export interface FailureDetails {
  /** Whether asking again can help: false where somebody has to change something first. */
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

/** The rights have ended by which a replication was asked for: it does not go on, however often it is tried. */
export class RightsEnded extends ReplicationError {
  constructor(why: string) {
    super('unauthorized', why, { isRetryable: false });
    this.name = 'RightsEnded';
  }
}
