import type { RuleFailure } from '../interface/documents.ts';

/** A response that refuses a request (docs/http/answers.md#errors). */
export class SetteeError extends Error {
  override readonly name = 'SetteeError';
  /** The status of the response, 400 or above. */
  readonly status: number;
  /** The code, such as `not_found`. */
  readonly error: string;
  /** Text; functions of documents may refuse with any JSON value. */
  readonly reason: unknown;
  /** If a declarative rule of a design document refuses: what is wrong with the document. */
  readonly failures: readonly RuleFailure[] | undefined;

  constructor(status: number, error: string, reason: unknown, failures?: readonly RuleFailure[]) {
    super(`${status} ${error}: ${typeof reason === 'string' ? reason : JSON.stringify(reason)}`);
    this.status = status;
    this.error = error;
    this.reason = reason;
    this.failures = failures;
  }
}
