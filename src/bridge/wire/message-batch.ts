/** So that the other side can begin with the first of many while this one makes the rest. */
const MOST = 16;

/** Joins what is to be sent in one turn, so that it leaves as one message, in the order in which it was put in. */
export class Outbox<T> {
  readonly #send: (parts: readonly T[], ports: MessagePort[]) => void;
  #parts: T[] = [];
  #ports: MessagePort[] = [];

  constructor(send: (parts: readonly T[], ports: MessagePort[]) => void) {
    this.#send = send;
  }

  /** `port` is transferred with the message. */
  put(part: T, port?: MessagePort): void {
    if (port) this.#ports.push(port);
    const count = this.#parts.push(part);
    if (count === MOST) this.#flush();
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
