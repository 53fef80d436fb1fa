/** Counts requests and their answers (docs/http.md#statistics), but for those that the service sends to itself. */
import { whenReady } from '../../shared/maybe-promise.ts';
import type { Handler } from '../request/context.ts';

/** `next` answers failures, too. */
export function countRequests(next: Handler): Handler {
  return (context) => {
    const { request, services } = context;
    if (request.user !== undefined) return next(context);
    const { clock, statistics } = services;
    const began = clock.monotonic();
    statistics.noteRequest(request.method, began);
    return whenReady(next(context), (answer) => {
      statistics.noteAnswer(answer.status, clock.monotonic() - began);
      return answer;
    });
  };
}
