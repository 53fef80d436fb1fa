/**
 * Follows a continuous feed of the database: one response to a `fetch()` that goes on for as long as it is read. Rows that arrive
 * together are passed on together, which costs a page little however much another tab writes; an `EventSource` has an event for each row.
 * Like an `EventSource`, it connects again after an interruption, ends with the page, and begins again with one that comes back out of the
 * back/forward cache.
 */
import { waitMs } from './again.ts';
import { type Connections, followPage } from './connections.ts';

/** Waits before it connects again. */
const AGAIN = { firstMs: 1000, maxMs: 15_000 } as const;

export interface LineFeedHost<Line> {
  /** Requests the feed from where it continues; called each time it connects. `signal`: the feed is no longer wanted. */
  connect(signal: AbortSignal): Promise<Response>;
  onOpen(): void;
  /** Objects, one for each line. */
  onLines(lines: readonly Line[]): void;
}

export class LineFeed<Line> {
  readonly #connections: Connections;
  readonly #host: LineFeedHost<Line>;
  /** Defined while the feed is wanted; ends its listeners. */
  #wanted: AbortController | undefined;
  /** Defined while it is connected, or about to be. */
  #connection: AbortController | undefined;

  constructor(connections: Connections, host: LineFeedHost<Line>) {
    this.#connections = connections;
    this.#host = host;
  }

  /** Does nothing if it is already open. */
  open(): void {
    if (this.#wanted) return;
    this.#wanted = new AbortController();
    const follow = () => void this.#follow();
    followPage(this.#wanted.signal, () => this.#connection?.abort(), follow);
    follow();
  }

  close(): void {
    this.#wanted?.abort();
    this.#wanted = undefined;
    this.#connection?.abort();
    this.#connections.set(this, 'closed');
  }

  async #follow(): Promise<void> {
    const connection = new AbortController();
    this.#connection = connection;
    const { signal } = connection;
    for (let failures = 1; !signal.aborted; failures++) {
      const wasOpen = await this.#read(signal);
      if (signal.aborted) return;
      if (wasOpen) failures = 1;
      this.#connections.set(this, 'interrupted');
      await new Promise((resolve) => setTimeout(resolve, waitMs(failures, AGAIN)));
    }
  }

  /** Resolves when the feed ends, as it does when its database is deleted or the connection breaks, to whether it was open. */
  async #read(signal: AbortSignal): Promise<boolean> {
    const response = await this.#host.connect(signal).catch(() => undefined);
    if (signal.aborted || !response?.ok || !response.body) return false;
    this.#connections.set(this, 'open');
    this.#host.onOpen();
    await this.#readLines(response.body, signal).catch(() => undefined);
    return true;
  }

  async #readLines(body: ReadableStream<Uint8Array<ArrayBuffer>>, signal: AbortSignal): Promise<void> {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done || signal.aborted) return;
      const lines = (rest + value).split('\n');
      rest = lines.pop() ?? '';
      // An empty one shows that the feed is alive.
      const told = lines.filter((line) => line !== '');
      if (told.length > 0) this.#host.onLines(JSON.parse(`[${told.join(',')}]`));
    }
  }
}
