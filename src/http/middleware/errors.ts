/** Turns failures into responses (docs/http/answers.md#errors). Unexpected ones go to the log, and not to the client. */
import { isDatabaseError, RetryLaterError } from '../../base/errors/database-error.ts';
import { orElse } from '../../base/shared/maybe-promise.ts';
import type { Answer, Context, Handler } from '../request/context.ts';
import { isInternal, MethodNotAllowed, RangeNotSatisfiable, showError } from '../response/error-table.ts';
import { jsonAnswer, withHeader } from '../response/responses.ts';

/** Seconds after which a client may retry a request that the service was too busy for. */
const RETRY_AFTER_S = '5';

export function answerErrors(next: Handler): Handler {
  return (context) =>
    orElse(
      () => next(context),
      (failure) => errorAnswer(context, failure),
    );
}

function errorAnswer(context: Context, failure: unknown): Answer {
  // Not the whole address: a query may contain what should not be in a log.
  if (isInternal(failure)) context.services.log.error(`A ${context.request.method} request failed`, failure);
  const { status, ...shown } = showError(failure);
  const errorCode = isDatabaseError(failure) ? failure.code : 'unknown_error';
  const answer: Answer = { ...jsonAnswer(context, status, JSON.stringify(shown)), errorCode };
  if (errorCode === 'too_busy') return withHeader(answer, 'retry-after', RETRY_AFTER_S);
  if (failure instanceof RetryLaterError) return withHeader(answer, 'retry-after', String(failure.retryAfterS));
  if (failure instanceof RangeNotSatisfiable) return withHeader(answer, 'content-range', `bytes */${failure.length}`);
  return failure instanceof MethodNotAllowed ? withHeader(answer, 'allow', failure.allow) : answer;
}
