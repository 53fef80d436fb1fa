import { isThreadWanted } from '../../base/shared/turn.ts';

/**
 * Sends responses that are ready in the same turn of the event loop together, at the end of the turn. Sent one by one, each
 * would wake its client process, which would sleep again before the next one arrives: for both sides that costs more than a
 * small request does. A single response is not delayed, because the turn ends when there is no other input. If long work waits for its
 * turn, which it may get at the end of this one, responses don't wait: otherwise each would be sent after a step of that work.
 */
export class AnswerBatch {
  #turnEnd: Promise<void> | undefined;

  /** When the responses of this turn are sent: a promise for the turn's end, or undefined for at once. */
  turnEnd(): Promise<void> | undefined {
    if (isThreadWanted()) return undefined;
    this.#turnEnd ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#turnEnd = undefined;
        resolve();
      });
    });
    return this.#turnEnd;
  }
}
