/**
 * The requests of a page, from its messages to the door and back. Each is begun in the turn in which it came; answers that are ready in
 * the same turn leave together.
 */
import type { WorkerDoor } from '../bridge/contract.ts';
import { Outbox } from '../bridge/wire/message-batch.ts';
import type { PageAnswer, PageAnswers, PageRequest, WireResponse } from '../bridge/wire/wire.ts';
import { portOf } from '../bridge/wire/wire-codec.ts';
import { asPageCalls } from '../bridge/wire/wire-decoding.ts';
import { orElse, whenReady } from '../shared/maybe-promise.ts';
import type { Wakefulness } from './busy-poll.ts';

/** A worker's own scope, or one end of a port. */
export interface PageEnd {
  postMessage(message: PageAnswers, transfer: MessagePort[]): void;
  addEventListener(type: 'message', listener: (event: MessageEvent<unknown>) => void): void;
}

type Requests = Pick<WorkerDoor, 'handle' | 'abort'>;

/**
 * Passes the page's messages to the door from now on. Those of Comlink are left alone, and Comlink, if it begins to listen later, never
 * sees these: it would take each apart to find that it is none of its own.
 *
 * @param wakefulness where the browser is slow to wake a worker.
 */
export function servePageCalls(page: PageEnd, door: Requests, wakefulness?: Wakefulness): void {
  const answers = new Outbox<PageAnswer>((parts, ports) => {
    page.postMessage({ answers: parts }, ports);
    wakefulness?.answered();
  });
  page.addEventListener('message', (event) => {
    const message = asPageCalls(event.data);
    if (message === undefined) return;
    event.stopImmediatePropagation();
    wakefulness?.asked();
    for (const call of message.calls) {
      if (call.length === 1) door.abort(call[0]);
      else carryOut(door, call, answers);
    }
  });
}

function carryOut(door: Requests, request: PageRequest, answers: Outbox<PageAnswer>): void {
  const [call, method, url, headers, body, isAbortable] = request;
  const answer = (response: WireResponse): void =>
    answers.put([call, response.status, response.headers, response.body], portOf(response.body));
  const answered = orElse(
    () => whenReady(door.handle({ method, url, headers, body }, isAbortable ? call : undefined), answer),
    (error) => answers.put([call, String(error)]),
  );
  // Neither way fails.
  void answered;
}
