/** The errors of a failed replication: what they say, and when it is retried. */
import { DatabaseError, type ErrorCode } from '../base/errors/database-error.ts';

interface FailureDetails {
  /** Whether a retry can help: false if a person has to change something first. */
  readonly isRetryable: boolean;
  /** How long the peer asked to wait. */
  readonly retryAfterMs?: number | undefined;
  /** The origin (scheme, host and port) of a peer that could not be reached at all. */
  readonly unreachable?: string | undefined;
  /** The database that may have failed because of what was requested, such as a document that it can't read: other requests may succeed. */
  readonly suspect?: string | undefined;
  readonly cause?: unknown;
}

/** See `ReplicationFailure` of the contract. */
export class ReplicationError extends DatabaseError {
  readonly isRetryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly unreachable: string | undefined;
  readonly suspect: string | undefined;

  constructor(code: ErrorCode, reason: string, details: FailureDetails) {
    super(code, reason, { cause: details.cause });
    this.name = 'ReplicationError';
    this.isRetryable = details.isRetryable;
    this.retryAfterMs = details.retryAfterMs;
    this.unreachable = details.unreachable;
    this.suspect = details.suspect;
  }
}

/** The rights with which a replication was requested have ended: it does not go on, however often it is retried. */
export class RightsEnded extends ReplicationError {
  constructor(why: string) {
    super('unauthorized', why, { isRetryable: false });
    this.name = 'RightsEnded';
  }
}

/**
 * The replication needs credentials that no request can replace: a token that an app provides, or a session that a user begins. It waits,
 * and such attempts do not count. `unreachable`: the app has no network to get them, so that no one has to log in.
 */
export class CredentialsAwaited extends ReplicationError {
  /** The database for which they are needed. */
  readonly url: string;
  /** The number of changes of the source of tokens that were known when it was asked; undefined if it was not asked. */
  readonly seen: number | undefined;

  constructor(url: string, why: string, seen?: number, unreachable?: string) {
    const isOffline = unreachable !== undefined;
    super(isOffline ? 'replication_failed' : 'unauthorized', why, { isRetryable: isOffline, unreachable });
    this.name = 'CredentialsAwaited';
    this.url = url;
    this.seen = seen;
  }
}

/** What a replication waits for after an attempt that does not count: a host that can't be reached, or credentials. */
export type PauseState = 'paused' | 'unauthorized';

/** Undefined for a failure that counts. */
export function pauseOf(failure: unknown): PauseState | undefined {
  if (unreachableOf(failure) !== undefined) return 'paused';
  return failure instanceof CredentialsAwaited ? 'unauthorized' : undefined;
}

export function cancelled(): ReplicationError {
  return new ReplicationError('cancelled', 'The replication was stopped.', { isRetryable: true });
}

const FIRST_WAIT_MS = 5_000;
const MAX_WAIT_MS = 3_600_000;
/** Hosts that have no event for that must notice in time that the network is back. */
const MAX_OFFLINE_WAIT_MS = 300_000;

/** Returns the wait after so many consecutive failures: it doubles, up to a limit, and is never less than the peer asked for. */
export function backOffMs(failures: number, failure: unknown): number {
  const asked = failure instanceof ReplicationError ? (failure.retryAfterMs ?? 0) : 0;
  const most = pauseOf(failure) === undefined ? MAX_WAIT_MS : MAX_OFFLINE_WAIT_MS;
  return Math.max(asked, Math.min(most, FIRST_WAIT_MS * 2 ** (failures - 1)));
}

/** Returns the origin of the peer that could not be reached at all; undefined for any other failure. */
export function unreachableOf(failure: unknown): string | undefined {
  return failure instanceof ReplicationError ? failure.unreachable : undefined;
}

/** Returns what the ledger says of a document that could not be read or written because of such a failure. */
export function ledgerReason({ code, reason }: ReplicationError): { readonly error: string; readonly reason: string } {
  return { error: code === 'replication_failed' ? 'bad_answer' : code, reason };
}

/** The word for the failures of `unreachableOf`, in lists and in documents. */
export const OFFLINE = 'offline';

/** A text for people. Foreign errors may contain anything, so nothing of them is shown. */
export function failureText(failure: unknown): string {
  if (unreachableOf(failure) !== undefined && failure instanceof DatabaseError) return `${OFFLINE}: ${failure.reason}`;
  if (failure instanceof DatabaseError) return `${failure.code}: ${failure.reason}`;
  return 'unknown_error: The replication failed for an unexpected reason. The log of the service has details.';
}
