import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import type { Handle, PlainResponse } from '../../base/shared/message.ts';

/** Of responses that were made here, because the process that was meant did not answer. */
const FAILURES: ReadonlySet<string> = new Set(['shutting_down', 'write_outcome_unknown']);

/** What this server has sent to others since it was started, and how often databases got other owners. */
export class TrafficCounts {
  forwarded = 0;
  failures = 0;
  moves = 0;

  count(answering: MaybePromise<PlainResponse>): MaybePromise<PlainResponse> {
    this.forwarded += 1;
    return whenReady(answering, (response) => {
      if (isFailure(response)) this.failures += 1;
      return response;
    });
  }
}

function isFailure({ errorCode }: PlainResponse): boolean {
  return errorCode !== undefined && FAILURES.has(errorCode);
}

interface Counted {
  readonly forwarded: { value: number };
  readonly forwardFailures: { value: number };
}

/** Counts what a reader sends to the owner of the databases. */
export function counting(forward: Handle, { forwarded, forwardFailures }: Counted): Handle {
  return (request) => {
    forwarded.value += 1;
    return whenReady(forward(request), (response) => {
      if (isFailure(response)) forwardFailures.value += 1;
      return response;
    });
  };
}
