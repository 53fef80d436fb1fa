/** Counts requests and responses (docs/http/server.md#statistics) and logs them (docs/http/server.md#log), except the service's own. */
import { whenReady } from '../../base/shared/maybe-promise.ts';
import type { Handler } from '../request/context.ts';
import { requestEntry } from './request-entry.ts';

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
