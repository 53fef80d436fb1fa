import { isThreadWanted } from '../../base/shared/turn.ts';

/**
 * Sends answers that are ready in the same turn of the event loop together, at the end of the turn. Sent one by one, each
 * would wake its client process, which would sleep again before the next one arrives: that costs both sides more than a
 * small request does. A single answer is not delayed, because the turn ends when there is no other input. Where long work waits for its
 * turn, which it may have at the end of this one, answers don't: each would be sent after a step of that work else.
 */
export class AnswerBatch {
  #turnEnd: Promise<void> | undefined;

  /** When the answers of this turn are to be sent: a promise of its end, or undefined for at once. */
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
