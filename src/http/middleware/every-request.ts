/**
 * What applies to every request: it is counted (docs/http/server.md#statistics) and logged (docs/http/server.md#log), refused while
 * the service closes, and its response has the common headers (docs/http/answers.md#common-headers).
 */

import { DatabaseError } from '../../base/errors/database-error.ts';
import type { Clock } from '../../base/shared/clock.ts';
import { whenReady } from '../../base/shared/maybe-promise.ts';
import type { ObservedRequest } from '../../base/shared/message.ts';
import { VERSION } from '../../base/system/version.ts';
import type { Answer, Context, Handler } from '../request/context.ts';
import { withHeader } from '../response/responses.ts';

const MAX_LENGTH = 1_024;
const PLAIN = /^[\w.:%@+-]{2,128}$|^\w$/;

/**
 * Returns the log entry of a request and how many milliseconds it took: address, user, method, path and status. Omits the query,
 * which may contain what should not be in a log.
 */
function requestEntry(context: Context, { status }: Answer, ms: number): string {
  const { method, url, observed } = context.request;
  const { name } = context.user;
  const path = url.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
  const address = context.clientAddress;
  return `${address === '' ? '-' : plain(address)} ${name === null ? '-' : plain(name)} ${method.slice(0, MAX_LENGTH)} ${path.slice(0, MAX_LENGTH)} ${status} ${ms.toFixed(1)} ms${traceOf(observed)}`;
}

/** The trace id, which its host has checked. */
function traceOf(observed: ObservedRequest | undefined): string {
  const { traceparent } = observed?.trace ?? {};
  return traceparent === undefined ? '' : ` trace ${traceparent.slice(3, 35)}`;
}

/** Quotes what could be mistaken for more than a name or an address. */
function plain(text: string): string {
  return PLAIN.test(text) ? text : JSON.stringify(text.slice(0, MAX_LENGTH));
}

/** Counts and logs requests and responses, except the service's own, and those that another process answers. `next` answers failures, too. */
export function countRequests(next: Handler): Handler {
  return (context) => {
    const { request, services } = context;
    if (request.user !== undefined) return next(context);
    const { clock, statistics, log, isLeftToOwner } = services;
    const began = clock.monotonic();
    if (isLeftToOwner === undefined) statistics.noteRequest(request.method, began);
    return whenReady(next(context), (answer) => {
      if (isLeftToOwner?.(answer) === true) return answer;
      if (isLeftToOwner !== undefined) statistics.noteRequest(request.method, began);
      if (request.observed !== undefined) request.observed.user = context.user.name;
      const ms = clock.monotonic() - began;
      statistics.noteAnswer(answer.status, ms);
      log.request?.(() => requestEntry(context, answer, ms));
      return answer;
    });
  };
}

/** Refuses new requests while the service closes, except those that it makes itself to finish its work. */
export function refuseWhenClosing(isClosing: () => boolean, next: Handler): Handler {
  return (context) => {
    if (isClosing() && context.request.user === undefined) {
      throw new DatabaseError('shutting_down', 'The service is shutting down; try again when it is back.');
    }
    return next(context);
  };
}

const SERVER = `Settee/${VERSION}`;

/** Sets `Server` and `Date`, says where the method QUERY is answered, and forbids guessing the type of the response. */
export function addServerHeaders(clock: Clock, next: Handler): Handler {
  const date = new HttpDate(clock);
  const addTo = (answer: Answer, { acceptsQuery }: Context): Answer => {
    if (acceptsQuery) withHeader(answer, 'accept-query', 'application/json');
    withHeader(answer, 'server', SERVER);
    withHeader(answer, 'x-content-type-options', 'nosniff');
    return withHeader(answer, 'date', date.now());
  };
  return (context) => whenReady(next(context), (answer) => addTo(answer, context));
}

/** The date in HTTP's format, built once a second: building it takes more than a microsecond. */
class HttpDate {
  readonly #clock: Clock;
  #second = Number.NaN;
  #text = '';

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): string {
    const second = Math.floor(this.#clock.now() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#text = new Date(second * 1000).toUTCString();
    }
    return this.#text;
  }
}
