/** Why one attempt of a request failed. When no more attempts are made it becomes a `ReplicationError`. */
import type { ErrorCode } from '../../../base/errors/database-error.ts';
import { ReplicationError } from '../../failure.ts';

interface AttemptDetails {
  readonly code?: ErrorCode;
  /** Whether the same request may succeed later. */
  readonly isRetryable?: boolean;
  readonly retryAfterMs?: number | undefined;
  readonly status?: number | undefined;
  readonly isSilence?: boolean;
  readonly cause?: unknown;
}

export class AttemptFailure extends Error {
  readonly code: ErrorCode;
  readonly isRetryable: boolean;
  readonly retryAfterMs: number | undefined;
  /** The status of the response; undefined if there was none. */
  readonly status: number | undefined;
  /** The peer gave no sign for too long. */
  readonly isSilence: boolean;

  constructor(message: string, details: AttemptDetails = {}) {
    super(message, { cause: details.cause });
    this.name = 'AttemptFailure';
    this.code = details.code ?? 'replication_failed';
    this.isRetryable = details.isRetryable ?? true;
    this.retryAfterMs = details.retryAfterMs;
    this.status = details.status;
    this.isSilence = details.isSilence ?? false;
  }

  asFinal(): ReplicationError {
    const { code, message, isRetryable, retryAfterMs, cause } = this;
    return new ReplicationError(code, message, { isRetryable, retryAfterMs, cause });
  }
}

/**
 * Describes a transport's failure. For a network error it names only the cause: the message of the error itself may show
 * a header, and with it a password.
 */
export function describeFailure(failure: unknown): string {
  const cause = failure instanceof Error ? failure.cause : undefined;
  if (!(cause instanceof Error)) return 'the connection failed or was cut off';
  const code: unknown = Reflect.get(cause, 'code');
  return cause.message === '' ? String(code ?? cause.name) : cause.message;
}
