import { DatabaseError, type ErrorCode } from './database-error.ts';

/** A refusal that lasts for a while: the same request may come again after so many seconds. */
export class RetryLaterError extends DatabaseError {
  readonly retryAfterS: number;

  constructor(code: ErrorCode, reason: string, retryAfterS: number) {
    super(code, reason);
    this.name = 'RetryLaterError';
    this.retryAfterS = retryAfterS;
  }
}
