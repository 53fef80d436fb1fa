/**
 * Sends answers that are ready in the same turn of the event loop together, at the end of the turn. Sent one by one, each
 * would wake its client process, which would sleep again before the next one arrives: that costs both sides more than a
 * small request does. A single answer is not delayed, because the turn ends when there is no other input.
 */
export class AnswerBatch {
  #turnEnd: Promise<void> | undefined;

  /** Resolves at the end of this turn, when the answers of the turn are to be sent. */
  turnEnd(): Promise<void> {
    this.#turnEnd ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#turnEnd = undefined;
        resolve();
      });
    });
    return this.#turnEnd;
  }
}
