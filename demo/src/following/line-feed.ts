/**
 * Follows a continuous feed of the database: one response to a `fetch()` that goes on for as long as it is read. Rows that arrive
 * together are passed on together, which costs a page little however much another tab writes; an `EventSource` has an event for each row.
 * Like an `EventSource`, it connects again after an interruption, ends with the page, and begins again with one that comes back out of the
 * back/forward cache.
 */
import { type Connections, followPage } from './connections.ts';

const AGAIN_MS = 1000;

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
    while (!signal.aborted) {
      await this.#read(signal).catch(() => undefined);
      if (signal.aborted) return;
      this.#connections.set(this, 'interrupted');
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }

  /** Resolves if the feed ends, as it does when its database is deleted. */
  async #read(signal: AbortSignal): Promise<void> {
    const response = await this.#host.connect(signal);
    if (signal.aborted || !response.ok || !response.body) return;
    this.#connections.set(this, 'open');
    this.#host.onOpen();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
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
