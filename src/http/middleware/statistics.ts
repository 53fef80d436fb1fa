/** Counts requests and responses (docs/http/server.md#statistics) and logs them (docs/http/server.md#log), except the service's own. */
import { whenReady } from '../../base/shared/maybe-promise.ts';
import type { Answer, Context, Handler } from '../request/context.ts';

const LONGEST = 1_024;
const PLAIN = /^[\w.:%@+-]{2,128}$|^\w$/;

/**
 * Returns the log entry of a request and how many milliseconds it took: address, user, method, path and status. Omits the query,
 * which may contain what should not be in a log.
 */
function requestEntry(context: Context, { status }: Answer, ms: number): string {
  const { method, url } = context.request;
  const { name } = context.user;
  const path = url.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
  const address = context.clientAddress;
  return `${address === '' ? '-' : plain(address)} ${name === null ? '-' : plain(name)} ${method.slice(0, LONGEST)} ${path.slice(0, LONGEST)} ${status} ${ms.toFixed(1)} ms`;
}

/** Quotes what could be mistaken for more than a name or an address. */
function plain(text: string): string {
  return PLAIN.test(text) ? text : JSON.stringify(text.slice(0, LONGEST));
}

/** `next` answers failures, too. */
export function countRequests(next: Handler): Handler {
  return (context) => {
    const { request, services } = context;
    if (request.user !== undefined) return next(context);
    const { clock, statistics, log } = services;
    const began = clock.monotonic();
    statistics.noteRequest(request.method, began);
    return whenReady(next(context), (answer) => {
      const ms = clock.monotonic() - began;
      statistics.noteAnswer(answer.status, ms);
      log.request?.(() => requestEntry(context, answer, ms));
      return answer;
    });
  };
}
