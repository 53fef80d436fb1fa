/**
 * Follows a feed of the database: an `EventSource`, used as pages use one. The browser connects it again after an interruption,
 * and the database continues after the last event that arrived. This adds what browsers leave to the page:
 *
 * - It starts over after responses at which browsers give up, such as a 503 while one tab takes over from another.
 * - It ends with the page. A page that comes back out of the back/forward cache starts it over.
 */
import { waitMs } from './again.ts';
import { type Connections, followPage } from './connections.ts';

/** Waits before it starts over. */
const AGAIN = { firstMs: 2000, maxMs: 30_000 } as const;

export interface FeedHost<Event> {
  /** Runs before each start. If it rejects, it is tried again later, like the feed itself. */
  prepare?(): Promise<void>;
  /**
   * The feed is open. `isNew`: it does not report what happened before, so now is the time to read the present state. Otherwise it
   * resumes where it was. If this rejects, the feed starts over later.
   */
  onOpen?(isNew: boolean): void | Promise<void>;
  onEvent(event: Event): void;
  /** It broke off, or could not begin. It is retried until `onOpen` is called. */
  onLost?(): void;
}

export class Feed<Event> {
  readonly #address: () => string;
  readonly #connections: Connections;
  readonly #host: FeedHost<Event>;
  /** Defined while the feed is wanted; ends its listeners. */
  #wanted: AbortController | undefined;
  #source: EventSource | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** In a row. */
  #failures = 0;

  /** `address` is called each time the feed starts. */
  constructor(address: () => string, connections: Connections, host: FeedHost<Event>) {
    this.#address = address;
    this.#connections = connections;
    this.#host = host;
  }

  /** Does nothing if it is already open. */
  open(): void {
    if (this.#wanted) return;
    this.#wanted = new AbortController();
    const connect = () => void this.#connect();
    followPage(this.#wanted.signal, () => this.#disconnect(), connect);
    connect();
  }

  /** Starts over at once, if it waits to do so. */
  now(): void {
    this.#failures = 0;
    if (!this.#wanted || this.#source) return;
    clearTimeout(this.#timer);
    void this.#connect();
  }

  /** Starts over later: a request has failed, and a connection that was cut may look open for minutes. */
  startOver(): void {
    if (!this.#wanted) return;
    this.#connections.set(this, 'interrupted');
    this.#connectLater();
  }

  close(): void {
    this.#wanted?.abort();
    this.#wanted = undefined;
    this.#disconnect();
    this.#connections.set(this, 'closed');
  }

  async #connect(): Promise<void> {
    const wanted = this.#wanted;
    try {
      await this.#host.prepare?.();
    } catch {
      this.#host.onLost?.();
      return this.#connectLater();
    }
    if (wanted === undefined || this.#wanted !== wanted || this.#source) return;
    const source = new EventSource(this.#address());
    this.#source = source;
    let isNew = true;
    source.onopen = () => {
      this.#connections.set(this, 'open');
      const wasNew = isNew;
      isNew = false;
      this.#failures = 0;
      Promise.resolve(this.#host.onOpen?.(wasNew)).catch(() => this.#connectLater());
    };
    source.onmessage = ({ data }) => this.#host.onEvent(JSON.parse(data));
    source.onerror = () => {
      this.#connections.set(this, 'interrupted');
      this.#host.onLost?.();
      if (source.readyState === EventSource.CLOSED) this.#connectLater();
    };
  }

  #connectLater(): void {
    this.#disconnect();
    this.#failures++;
    if (this.#wanted) this.#timer = setTimeout(() => void this.#connect(), waitMs(this.#failures, AGAIN));
  }

  #disconnect(): void {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = undefined;
  }
}
