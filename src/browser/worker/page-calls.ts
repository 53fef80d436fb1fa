/**
 * The requests of a page, from its messages to the endpoint and back. Each begins in the turn in which it arrived; responses that are ready in
 * the same turn leave together.
 */

import { orElse, whenReady } from '../../base/shared/maybe-promise.ts';
import type { PageWorker } from '../bridge/contract.ts';
import { MessageBatch } from '../bridge/wire/message-batch.ts';
import type { PageAnswer, PageAnswers, PageRequest, WireResponse } from '../bridge/wire/wire.ts';
import { portOf } from '../bridge/wire/wire-codec.ts';
import { asPageCalls } from '../bridge/wire/wire-decoding.ts';
import type { BusyPoll } from './busy-poll.ts';

/** How a worker reaches its page: its own scope, or one end of a port. */
export interface PageConnection {
  postMessage(message: PageAnswers, transfer: MessagePort[]): void;
  addEventListener(type: 'message', listener: (event: MessageEvent<unknown>) => void): void;
}

type Endpoint = Pick<PageWorker, 'handle' | 'abort'>;

/**
 * Passes the page's requests to the endpoint from now on. Messages of Comlink are left to Comlink. If Comlink starts to listen later, it never
 * gets these: it would take each apart to find that it is not one of its own.
 *
 * @param busyPoll for browsers that are slow to wake a worker.
 */
export function servePageCalls(page: PageConnection, endpoint: Endpoint, busyPoll?: BusyPoll): void {
  const answers = new MessageBatch<PageAnswer>((parts, ports) => {
    page.postMessage({ answers: parts }, ports);
    busyPoll?.onAnswer();
  });
  page.addEventListener('message', (event) => {
    const message = asPageCalls(event.data);
    if (message === undefined) return;
    event.stopImmediatePropagation();
    busyPoll?.onRequest();
    for (const call of message.calls) {
      if (call.length === 1) endpoint.abort(call[0]);
      else carryOut(endpoint, call, answers);
    }
  });
}

function carryOut(endpoint: Endpoint, request: PageRequest, answers: MessageBatch<PageAnswer>): void {
  const [call, method, url, headers, body, isAbortable] = request;
  const answer = (response: WireResponse): void =>
    answers.add([call, response.status, response.headers, response.body], portOf(response.body));
  const answered = orElse(
    () => whenReady(endpoint.handle({ method, url, headers, body }, isAbortable ? call : undefined), answer),
    (error) => answers.add([call, String(error)]),
  );
  // It never rejects: a failure is also a response.
  void answered;
}
