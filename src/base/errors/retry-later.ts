import { DatabaseError, type ErrorCode } from './database-error.ts';

/** A temporary refusal: the client may retry the same request after this many seconds. */
export class RetryLaterError extends DatabaseError {
  readonly retryAfterS: number;

  constructor(code: ErrorCode, reason: string, retryAfterS: number) {
    super(code, reason);
    this.name = 'RetryLaterError';
    this.retryAfterS = retryAfterS;
  }
}
