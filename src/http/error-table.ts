/**
 * The only place that knows which HTTP status and which `error` word a failure becomes (completion 2). A code without a
 * row does not compile.
 */
import { DatabaseError, type ErrorCode, WordedError } from '../errors/database-error.ts';

export interface ErrorRow {
  readonly status: number;
  readonly error: string;
}

export const ERROR_TABLE = {
  bad_request: { status: 400, error: 'bad_request' },
  query_parse_error: { status: 400, error: 'query_parse_error' },
  illegal_database_name: { status: 400, error: 'illegal_database_name' },
  doc_validation: { status: 400, error: 'doc_validation' },
  unauthorized: { status: 401, error: 'unauthorized' },
  forbidden: { status: 403, error: 'forbidden' },
  not_found: { status: 404, error: 'not_found' },
  method_not_allowed: { status: 405, error: 'method_not_allowed' },
  not_acceptable: { status: 406, error: 'not_acceptable' },
  conflict: { status: 409, error: 'conflict' },
  file_exists: { status: 412, error: 'file_exists' },
  missing_stub: { status: 412, error: 'missing_stub' },
  too_large: { status: 413, error: 'too_large' },
  too_long: { status: 414, error: 'too_long' },
  bad_content_type: { status: 415, error: 'bad_content_type' },
  not_implemented: { status: 501, error: 'not_implemented' },
  // completion 13: the word is `error`, and the reason says which.
  purge_during_compaction: { status: 500, error: 'error' },
  compilation_error: { status: 500, error: 'compilation_error' },
  os_process_error: { status: 500, error: 'os_process_error' },
  reduce_overflow_error: { status: 500, error: 'reduce_overflow_error' },
  invalid_value: { status: 500, error: 'invalid_value' },
  render_error: { status: 500, error: 'render_error' },
  invalid_require_path: { status: 500, error: 'invalid_require_path' },
  // The word is the function's own: `ThrownError` of query-server has it.
  function_error: { status: 500, error: 'unknown_error' },
  // Paths below a design document that lead nowhere.
  show_error: { status: 404, error: 'show_error' },
  list_error: { status: 404, error: 'list_error' },
  update_error: { status: 404, error: 'update_error' },
  rewrite_error: { status: 404, error: 'rewrite_error' },
  rewrite_rules_error: { status: 400, error: 'rewrite_error' },
  insecure_rewrite_rule: { status: 500, error: 'insecure_rewrite_rule' },
  functions_unavailable: { status: 503, error: 'functions_unavailable' },
  storage_closed: { status: 503, error: 'storage_closed' },
  // The database was deleted while the request ran: the same as if the request had come a moment later.
  storage_deleted: { status: 404, error: 'not_found' },
  // RFC 4918, 11.5.
  storage_full: { status: 507, error: 'insufficient_storage' },
  storage_fenced: { status: 503, error: 'storage_fenced' },
  storage_blocked: { status: 503, error: 'storage_blocked' },
  storage_corrupt: { status: 500, error: 'storage_corrupt' },
  storage_newer_format: { status: 500, error: 'storage_newer_format' },
  storage_locked: { status: 503, error: 'storage_locked' },
  storage_exists: { status: 500, error: 'storage_exists' },
  storage_missing: { status: 500, error: 'storage_missing' },
  storage_failed: { status: 500, error: 'storage_failed' },
  shutting_down: { status: 503, error: 'shutting_down' },
  cancelled: { status: 503, error: 'cancelled' },
  unknown_error: { status: 500, error: 'unknown_error' },
} as const satisfies Record<ErrorCode, ErrorRow>;

/** A failure as the interface shows it (interface.md 7). */
export interface ShownError extends ErrorRow {
  readonly reason: string;
}

/** Nothing of an error that isn't ours is shown: it may hold paths, or parts of documents. */
export function showError(failure: unknown): ShownError {
  if (!(failure instanceof DatabaseError)) {
    const reason = 'The request failed for a reason that the service did not foresee; its log tells more.';
    return { ...ERROR_TABLE.unknown_error, reason };
  }
  if (failure.code === 'purge_during_compaction') {
    return { ...ERROR_TABLE.purge_during_compaction, reason: failure.code };
  }
  const row = ERROR_TABLE[failure.code];
  return {
    status: row.status,
    error: failure instanceof WordedError ? failure.word : row.error,
    reason: failure.reason,
  };
}

/** What goes wrong in a function of a document is its author's matter, whatever status it has. */
const OF_DOCUMENTS: ReadonlySet<ErrorCode> = new Set([
  'compilation_error',
  'os_process_error',
  'reduce_overflow_error',
  'invalid_value',
  'render_error',
  'invalid_require_path',
  'function_error',
  'insecure_rewrite_rule',
]);

/** Whether the failure is the service's own, so that a developer must look. */
export function isInternal(failure: unknown): boolean {
  if (!(failure instanceof DatabaseError)) return true;
  return ERROR_TABLE[failure.code].status === 500 && !OF_DOCUMENTS.has(failure.code);
}

/** 405 with the methods that the resource has, for the `Allow` header (completion 1.8). */
export class MethodNotAllowed extends DatabaseError {
  readonly allow: string;

  constructor(allow: string, reason = `Only ${allow} allowed`) {
    super('method_not_allowed', reason);
    this.allow = allow;
  }
}
