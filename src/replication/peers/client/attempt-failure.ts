/**
 * Why one attempt of a request failed, and whether the request may succeed later. When no more attempts are made it becomes a `ReplicationError`.
 */
import type { ErrorCode } from '../../../base/errors/database-error.ts';
import { ReplicationError } from '../../failure.ts';

interface AttemptDetails {
  readonly code?: ErrorCode;
  /** Whether the same request may succeed later. */
  readonly isRetryable?: boolean;
  readonly retryAfterMs?: number | undefined;
  readonly status?: number | undefined;
  readonly isSilence?: boolean;
  readonly unreachable?: string | undefined;
  readonly isOfGateway?: boolean;
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
  /** See `ReplicationError`. */
  readonly unreachable: string | undefined;
  /** A proxy answered, which may not be able to reach the peer. */
  readonly isOfGateway: boolean;

  constructor(message: string, details: AttemptDetails = {}) {
    super(message, { cause: details.cause });
    this.name = 'AttemptFailure';
    this.code = details.code ?? 'replication_failed';
    this.isRetryable = details.isRetryable ?? true;
    this.retryAfterMs = details.retryAfterMs;
    this.status = details.status;
    this.isSilence = details.isSilence ?? false;
    this.unreachable = details.unreachable;
    this.isOfGateway = details.isOfGateway ?? false;
  }

  /** `peer`: the name of the database that was asked. */
  asFinal(peer?: string): ReplicationError {
    const { code, message, isRetryable, retryAfterMs, unreachable, cause } = this;
    const suspect = this.mayBeOfRequest ? peer : undefined;
    return new ReplicationError(code, message, { isRetryable, retryAfterMs, unreachable, suspect, cause });
  }

  /**
   * Whether the cause may be what was requested: a server fails on one document, an intermediary refuses it or puts a page in its place, a
   * response breaks off again and again. False if the failure concerns all requests.
   */
  get mayBeOfRequest(): boolean {
    const { status, retryAfterMs, unreachable } = this;
    if (retryAfterMs !== undefined || unreachable !== undefined) return false;
    return status === undefined || status < 300 || OF_REQUEST.includes(status);
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

/** The family's standard words. */
const ERRORS: ReadonlySet<string> = new Set([
  ...['bad_content_type', 'bad_request', 'conflict', 'content_md5_mismatch', 'doc_validation', 'document_too_large'],
  ...['file_exists', 'forbidden', 'illegal_database_name', 'insufficient_storage', 'internal_server_error'],
  ...['method_not_allowed', 'missing_stub', 'not_acceptable', 'not_found', 'not_implemented', 'precondition_failed'],
  ...[
    'request_entity_too_large',
    'service_unavailable',
    'timeout',
    'too_many_requests',
    'unauthorized',
    'unknown_error',
  ],
]);
/** Reasons that say what is missing. */
const REASONS: ReadonlySet<string> = new Set(['no_db_file', 'missing', 'deleted', 'Database does not exist.']);

interface Refusal {
  readonly error: string;
  readonly reason: string;
}

/**
 * Returns what is shown of a refusal by a server that the asker may not be able to reach: only the family's standard words, none of the server's
 * own. The status replaces other error words.
 */
export function plainRefusal({ error, reason }: Refusal, status: number): Refusal {
  return { error: ERRORS.has(error) ? error : String(status), reason: REASONS.has(reason) ? reason : '' };
}

const UNAUTHORIZED = 401;
const FORBIDDEN = 403;
const NOT_FOUND = 404;
/** 404: with HTML, as every other 404 has another class. */
const OF_REQUEST: readonly number[] = [FORBIDDEN, NOT_FOUND, 500];
/** Statuses below 500 that may change when the same request is sent again. */
const PASSING: readonly number[] = [408, 425, 429];
/** Reasons of 404 that concern the database itself. */
const OF_DATABASE = /no_db_file|database/i;

interface RefusedRequest {
  /** The database's name for people. */
  readonly peer: string;
  /** The method, and the path below the database without its parameters. */
  readonly what: string;
  /** It is for the database itself. */
  readonly isOfDatabase: boolean;
  /** See `PeerRequest`. */
  readonly names: string | undefined;
}

interface RefusingAnswer extends Refusal {
  readonly status: number;
  /** It comes from an intermediary that can't reach the peer at present. */
  readonly isFromProxy: boolean;
  /** See `isOfGateway`. */
  readonly isOfGateway: boolean;
  /** The wait that the peer asks for. */
  readonly pauseMs: number | undefined;
}

/** Returns the failure of an attempt that was refused. `hadSuccess`: the peer accepted a request before. */
export function failureOf(request: RefusedRequest, answer: RefusingAnswer, hadSuccess: boolean): AttemptFailure {
  const { peer, what, isOfDatabase, names } = request;
  const { status, error, reason, isFromProxy, pauseMs } = answer;
  // A server that is there says why.
  const isOfGateway = answer.isOfGateway && error === String(status);
  const word = error === String(status) ? '' : ` ${error}`;
  const message = `${peer} answered ${what} with ${status}${word}${afterColon(reason)}`;
  if (status === UNAUTHORIZED) {
    const why = isOfDatabase ? `unauthorized to access or create database ${peer}${afterColon(reason)}` : message;
    // Credentials that were accepted before have not changed: a peer may lose its accounts for a while.
    return new RefusedAttempt(why, 'unauthorized', status, hadSuccess);
  }
  if (status === FORBIDDEN) return new RefusedAttempt(message, 'forbidden', status, false);
  if (status === NOT_FOUND && !isFromProxy) {
    if (names === undefined || OF_DATABASE.test(reason)) {
      return new RefusedAttempt(message, 'db_not_found', status, hadSuccess);
    }
    return new RefusedAttempt(`${peer} has no ${names}${afterColon(reason)}`, 'not_found', status, false);
  }
  const isRetryable = status >= 500 || status === NOT_FOUND || PASSING.includes(status);
  const retryAfterMs = isRetryable ? pauseMs : undefined;
  return new AttemptFailure(message, { isRetryable, retryAfterMs, status, isOfGateway });
}

/** The peer refused the request: sending the same again at once does not help, but beginning again later may. */
class RefusedAttempt extends AttemptFailure {
  readonly #isPassing: boolean;

  constructor(message: string, code: ErrorCode, status: number, isPassing: boolean) {
    super(message, { code, isRetryable: false, status });
    this.#isPassing = isPassing;
  }

  override asFinal(peer?: string): ReplicationError {
    const suspect = this.status === FORBIDDEN ? peer : undefined;
    return new ReplicationError(this.code, this.message, { isRetryable: this.#isPassing, suspect });
  }
}

function afterColon(reason: string): string {
  return reason === '' ? '' : `: ${reason}`;
}
