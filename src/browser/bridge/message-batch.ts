/** A batch of this size is sent at once, so that the receiver can begin with the first of many parts while the rest are built. */
const MAX_PARTS = 16;

/** Collects the parts that are sent in one turn of the event loop and sends them as one message, in the order in which they were added. */
export class MessageBatch<T> {
  readonly #send: (parts: readonly T[], ports: MessagePort[]) => void;
  #parts: T[] = [];
  #ports: MessagePort[] = [];

  constructor(send: (parts: readonly T[], ports: MessagePort[]) => void) {
    this.#send = send;
  }

  /** `port` is transferred with the message. */
  add(part: T, port?: MessagePort): void {
    if (port) this.#ports.push(port);
    const count = this.#parts.push(part);
    if (count === MAX_PARTS) this.#flush();
    else if (count === 1) queueMicrotask(() => this.#flush());
  }

  #flush(): void {
    const parts = this.#parts;
    const ports = this.#ports;
    if (parts.length === 0) return;
    this.#parts = [];
    this.#ports = [];
    this.#send(parts, ports);
  }
}
