/**
 * Recognizes that a host can't be reached at all: its name is unknown, there is no route, nothing accepts connections, or a proxy says so of the
 * server behind it.
 */
import type { TransportAnswer } from './transport.ts';

/** Of Node, undici and Bun, for connections that could not be made. */
const CODES: ReadonlySet<unknown> = new Set([
  ...['ENOTFOUND', 'EAI_AGAIN', 'EAI_NODATA', 'EAI_NONAME', 'EAI_FAIL'],
  ...['ECONNREFUSED', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN', 'ENONET'],
  ...['UND_ERR_CONNECT_TIMEOUT', 'ConnectionRefused', 'FailedToOpenSocket'],
]);
/** Deno has only words. */
const WORDS = /client error \(Connect\)|tcp connect error|dns error/;
const MAX_CAUSES = 5;

/** The code of failures that a host's own `fetch` marks as such, if it says nothing more about them. */
const MARK = 'SETTEE_UNREACHABLE';

/** An error, as the cause of a failed `fetch`, for a host that can't be reached. */
export function unreachableCause(reason: string): Error {
  return Object.assign(new Error(reason), { code: MARK });
}

/** Whether the failure of a `fetch` says that no connection was made. False for a connection that broke. */
export function isUnreachable(failure: unknown, depth = 0): boolean {
  if (!(failure instanceof Error) || depth > MAX_CAUSES) return false;
  const code: unknown = Reflect.get(failure, 'code');
  if (CODES.has(code) || code === MARK) return true;
  if (code === 'ETIMEDOUT' && Reflect.get(failure, 'syscall') === 'connect') return true;
  if (failure.name === 'TypeError' && WORDS.test(failure.message)) return true;
  // For a name with several addresses, each has its error.
  const errors = failure instanceof AggregateError ? failure.errors : [];
  return (
    isUnreachable(failure.cause, depth + 1) ||
    (errors.length > 0 && errors.every((one) => isUnreachable(one, depth + 1)))
  );
}

/** Servers of the family don't send these statuses themselves. */
const OF_GATEWAYS: readonly number[] = [502, 504];
const UNAVAILABLE = 503;
const NOT_FOUND = 404;

type Head = Pick<TransportAnswer, 'status' | 'header'>;

/** Whether the response may come from a proxy that can't reach the server behind it, or that waited too long for one request. */
export function isOfGateway(answer: Head): boolean {
  return OF_GATEWAYS.includes(answer.status) || (answer.status === UNAVAILABLE && isOfType(answer, /^\s*text\//i));
}

/** The family says in JSON what is missing. An HTML page comes from an intermediary that can't reach the peer at present. */
export function isFromBetween(answer: Head): boolean {
  return answer.status === NOT_FOUND && isOfType(answer, /^\s*text\/html/i);
}

function isOfType(answer: Head, type: RegExp): boolean {
  return type.test(answer.header('content-type') ?? '');
}
