/**
 * The failures that Settee has names for. A code says what happened; `http/response/error-table.ts` alone decides which HTTP status
 * it becomes. Codes are stable: clients and tests may rely on them.
 */
export type ErrorCode =
  // a request that can't be carried out as it stands
  | 'bad_request'
  | 'query_parse_error'
  | 'illegal_database_name'
  | 'modification_not_allowed'
  | 'doc_validation'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'not_acceptable'
  | 'conflict'
  | 'file_exists'
  | 'missing_stub'
  | 'content_md5_mismatch'
  | 'requested_range_not_satisfiable'
  | 'too_large'
  | 'too_long'
  | 'bad_content_type'
  | 'not_implemented'
  | 'purge_during_compaction'
  // functions of design documents
  | 'compilation_error'
  | 'os_process_error'
  | 'reduce_overflow_error'
  | 'invalid_value'
  | 'render_error'
  | 'invalid_require_path'
  | 'function_error'
  | 'show_error'
  | 'list_error'
  | 'update_error'
  | 'rewrite_error'
  | 'rewrite_rules_error'
  | 'insecure_rewrite_rule'
  | 'functions_unavailable'
  // replications
  | 'db_not_found'
  | 'replication_failed'
  // storage
  | 'storage_closed'
  | 'storage_deleted'
  | 'storage_full'
  | 'storage_fenced'
  | 'write_outcome_unknown'
  | 'storage_blocked'
  | 'storage_corrupt'
  | 'storage_newer_format'
  | 'storage_locked'
  | 'storage_exists'
  | 'storage_missing'
  | 'storage_failed'
  | 'storage_rolled_back'
  | 'not_owner'
  // the service
  | 'shutting_down'
  | 'too_busy'
  | 'too_many_requests'
  | 'cancelled'
  | 'request_timeout'
  | 'unknown_error';

/**
 * The one error class that Settee's layers throw to each other. `reason` is written for the person who reads it: what
 * failed, with the value, and what to do about it.
 */
export class DatabaseError extends Error {
  readonly code: ErrorCode;
  readonly reason: string;

  constructor(code: ErrorCode, reason: string, options?: { readonly cause?: unknown }) {
    super(`${code}: ${reason}`, options);
    this.name = 'DatabaseError';
    this.code = code;
    this.reason = reason;
  }
}

/** An error whose response has its own word in place of its code: `{"error": word, "reason": reason}`. */
export class CustomCodeError extends DatabaseError {
  readonly word: string;

  constructor(code: ErrorCode, word: string, reason: string) {
    super(code, reason);
    this.name = 'CustomCodeError';
    this.word = word;
  }
}

/** A place in a document at which it broke a rule. */
export interface RuleFailure {
  /** Names of members, and numbers of elements. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** A function or a rule of a design document refused something, and `value` is the JSON value that it returned as the reason. */
export class RefusalError extends DatabaseError {
  readonly refusal: 'forbidden' | 'unauthorized';
  readonly value: unknown;
  /** For rules: what is wrong with the document. */
  readonly failures: readonly RuleFailure[] | undefined;

  constructor(code: 'forbidden' | 'unauthorized', value: unknown, failures?: readonly RuleFailure[]) {
    super(code, typeof value === 'string' ? value : JSON.stringify(value));
    this.name = 'RefusalError';
    this.refusal = code;
    this.value = value;
    this.failures = failures;
  }
}

/** A temporary refusal: the client may retry the same request after this many seconds. */
export class RetryLaterError extends DatabaseError {
  readonly retryAfterS: number;

  constructor(code: ErrorCode, reason: string, retryAfterS: number) {
    super(code, reason);
    this.name = 'RetryLaterError';
    this.retryAfterS = retryAfterS;
  }
}

/** Returns whether `error` is a DatabaseError, with the given code if one is given. */
export function isDatabaseError(error: unknown, code?: ErrorCode): error is DatabaseError {
  return error instanceof DatabaseError && (code === undefined || error.code === code);
}

/** Returns the message of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What is stored is damaged, as `finding`, a sentence, says. */
export function storageDamage(finding: string, cause?: unknown): DatabaseError {
  return new DatabaseError('storage_corrupt', `${finding} Run "settee verify" and restore a backup.`, { cause });
}

/** Code or a file that is loaded on first use could not be loaded. The next request that needs it tries again. */
export function functionsUnavailable(what: string, cause: unknown): DatabaseError {
  const reason = `${what} could not be loaded (${messageOf(cause)}). Send the request again.`;
  return new DatabaseError('functions_unavailable', reason, { cause });
}
