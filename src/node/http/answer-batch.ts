/**
 * Has answers that are ready in the same turn of the event loop leave together, at its end. Written one by one, each
 * would wake its client, which falls asleep again before the next one comes: that costs both sides more than the work of
 * a small request. An answer that is alone waits for nothing: the turn is over when no other input is there.
 */
export class Outbox {
  #departure: Promise<void> | undefined;

  departure(): Promise<void> {
    this.#departure ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#departure = undefined;
        resolve();
      });
    });
    return this.#departure;
  }
}
