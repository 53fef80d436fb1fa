/**
 * Turns failures into responses (docs/http/errors.md). The only place that knows which HTTP status and which `error` word a failure
 * becomes. A code without a row does not compile.
 */

import {
  CustomCodeError,
  DatabaseError,
  type ErrorCode,
  isDatabaseError,
  RefusalError,
  RetryLaterError,
  type RuleFailure,
} from '../../base/errors/database-error.ts';
import { HELP_HEADER, helpFor } from '../../base/errors/help.ts';
import { orElse } from '../../base/shared/maybe-promise.ts';
import type { Answer, Context, Handler } from '../request/context.ts';
import { jsonAnswer, withHeader } from './responses.ts';

/** Statuses by code. The error word is the code itself, except for those of `WORDS`. */
export const STATUSES: Readonly<Record<ErrorCode, number>> = {
  bad_request: 400,
  query_parse_error: 400,
  illegal_database_name: 400,
  modification_not_allowed: 400,
  doc_validation: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  not_acceptable: 406,
  conflict: 409,
  file_exists: 412,
  missing_stub: 412,
  content_md5_mismatch: 400,
  requested_range_not_satisfiable: 416,
  too_large: 413,
  too_long: 414,
  bad_content_type: 415,
  not_implemented: 501,
  purge_during_compaction: 500,
  compilation_error: 500,
  os_process_error: 500,
  reduce_overflow_error: 500,
  invalid_value: 500,
  render_error: 500,
  invalid_require_path: 500,
  function_error: 500,
  // Paths below a design document that lead nowhere.
  show_error: 404,
  list_error: 404,
  update_error: 404,
  rewrite_error: 404,
  rewrite_rules_error: 400,
  insecure_rewrite_rule: 500,
  functions_unavailable: 503,
  db_not_found: 500,
  replication_failed: 500,
  storage_closed: 503,
  // The database was deleted while the request ran: the same as if the request had arrived a moment later.
  storage_deleted: 404,
  // RFC 4918, 11.5.
  storage_full: 507,
  storage_fenced: 503,
  write_outcome_unknown: 503,
  storage_blocked: 503,
  storage_corrupt: 500,
  storage_newer_format: 500,
  storage_locked: 503,
  storage_exists: 500,
  storage_missing: 500,
  storage_failed: 500,
  storage_rolled_back: 503,
  not_owner: 503,
  shutting_down: 503,
  too_busy: 503,
  // RFC 6585, 4.
  too_many_requests: 429,
  cancelled: 503,
  request_timeout: 408,
  unknown_error: 500,
};

const WORDS: Readonly<Partial<Record<ErrorCode, string>>> = {
  // docs/http/databases.md#purge: the word is `error`, and the reason says which.
  purge_during_compaction: 'error',
  // The word is the function's own: see `ThrownError` of query-server.
  function_error: 'unknown_error',
  rewrite_rules_error: 'rewrite_error',
  storage_deleted: 'not_found',
  write_outcome_unknown: 'service_unavailable',
  storage_full: 'insufficient_storage',
  too_busy: 'service_unavailable',
  request_timeout: 'timeout',
};

/** A failure as the interface shows it (docs/http/errors.md). */
interface ShownError {
  readonly status: number;
  readonly error: string;
  /** JSON value. Text, unless a function of a document refuses. */
  readonly reason: unknown;
  /** What is wrong with a document that a declarative rule refused. */
  readonly failures?: readonly RuleFailure[];
}

/** Shows nothing of an unknown error: it may contain paths, or parts of documents. */
export function showError(failure: unknown): ShownError {
  if (!(failure instanceof DatabaseError)) {
    const reason = 'The request failed because of an unexpected error. The log of the service has the details.';
    return { status: 500, error: 'unknown_error', reason };
  }
  const { code } = failure;
  return {
    status: STATUSES[code],
    error: failure instanceof CustomCodeError ? failure.word : (WORDS[code] ?? code),
    reason: reasonOf(failure),
    ...(failure instanceof RefusalError && failure.failures !== undefined && { failures: failure.failures }),
  };
}

function reasonOf(failure: DatabaseError): unknown {
  if (failure instanceof RefusalError) return failure.value;
  return failure.code === 'purge_during_compaction' ? failure.code : failure.reason;
}

/** Failures of a document's function, or of a replication's peer, are not the service's own, regardless of their status. */
const OF_OTHERS: ReadonlySet<ErrorCode> = new Set([
  'compilation_error',
  'os_process_error',
  'reduce_overflow_error',
  'invalid_value',
  'render_error',
  'invalid_require_path',
  'function_error',
  'insecure_rewrite_rule',
  'db_not_found',
  'replication_failed',
]);

/** Whether the failure is the service's own, so that a developer must look. */
export function isInternal(failure: unknown): boolean {
  if (!(failure instanceof DatabaseError)) return true;
  return STATUSES[failure.code] === 500 && !OF_OTHERS.has(failure.code);
}

/** 416 with the actual length, for `Content-Range` (RFC 9110, 15.5.17). */
export class RangeNotSatisfiable extends DatabaseError {
  readonly length: number;

  constructor(length: number) {
    super('requested_range_not_satisfiable', 'Requested range not satisfiable');
    this.length = length;
  }
}

/** 405 with the methods that the resource has, for the `Allow` header (docs/http/answers.md#allowed-methods). */
export class MethodNotAllowed extends DatabaseError {
  readonly allow: string;

  constructor(allow: string, reason = `Only ${allow} allowed`) {
    super('method_not_allowed', reason);
    this.allow = allow;
  }
}

/** The heading in docs/http/errors.md. The words of functions and peers, and those that are sentences, have none: there the code does. */
function sectionOf(code: ErrorCode, word: string): string {
  if (code === 'purge_during_compaction' || code === 'function_error' || code === 'replication_failed') return code;
  return /^\w+$/.test(word) ? word : code;
}

/** Seconds after which a client may retry a request that the service was too busy for. */
const RETRY_AFTER_S = '5';

/** Unexpected failures go to the log, and not to the client. */
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
  withHeader(answer, HELP_HEADER, helpFor(sectionOf(errorCode, shown.error)));
  if (failure instanceof RetryLaterError) return withHeader(answer, 'retry-after', String(failure.retryAfterS));
  if (errorCode === 'too_busy') return withHeader(answer, 'retry-after', RETRY_AFTER_S);
  if (failure instanceof RangeNotSatisfiable) return withHeader(answer, 'content-range', `bytes */${failure.length}`);
  return failure instanceof MethodNotAllowed ? withHeader(answer, 'allow', failure.allow) : answer;
}
