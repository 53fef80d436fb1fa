/**
 * The requests of a page, from its messages to the endpoint and back. Each begins in the turn in which it arrived; responses that are ready in
 * the same turn leave together.
 */

import { orElse, whenReady } from '../../base/shared/maybe-promise.ts';
import type { PageWorker } from '../bridge/contract.ts';
import { MessageBatch } from '../bridge/message-batch.ts';
import type { PageAnswer, PageAnswers, PageRequest, WireResponse } from '../bridge/wire.ts';
import { asPageCalls, portOf } from '../bridge/wire-codec.ts';

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

/** Keeps a worker's thread awake by busy polling between requests that follow each other. */
export interface BusyPoll {
  /** To be called when a request comes. Polling then ends, since it would take the processor from the threads that carry the request out. */
  onRequest(): void;
  /** To be called when a response was sent. */
  onAnswer(): void;
}

/** A response that follows the previous one within this time shows that a caller sends one request after another. */
const SEQUENCE_MS = 5;
/** How long the thread is kept awake after a response. */
const POLL_MS = 0.3;

/**
 * A page that awaits one request after another sends the next within a fraction of a millisecond. If the worker's thread has gone to sleep
 * meanwhile, waking it takes Chromium as long as the request itself: a GET takes 0.22 ms then, and 0.18 ms otherwise. So after a response
 * that soon follows another the worker posts messages to itself for 0.3 ms, or until the next request. Other tasks of the thread have their
 * turns between these messages.
 */
export function createBusyPoll(): BusyPoll {
  const { port1, port2 } = new MessageChannel();
  let answeredAt = 0;
  let pollUntil = 0;
  let isPolling = false;
  const poll = (): void => {
    isPolling = performance.now() < pollUntil;
    if (isPolling) port2.postMessage(0);
  };
  port1.onmessage = poll;
  return {
    onRequest: () => {
      pollUntil = 0;
    },
    onAnswer: () => {
      const now = performance.now();
      if (now - answeredAt < SEQUENCE_MS) pollUntil = now + POLL_MS;
      answeredAt = now;
      if (!isPolling) poll();
    },
  };
}
