/** What a reader counts and logs, which its owner shows with its own. */
import { type Counters, CountsSince } from '../../base/system/counters.ts';
import type { Forwarder } from '../forwarding/forwarder.ts';

/** How often counts are reported. */
const EACH_MS = 500;
/** Entries of the log that wait for a report, in UTF-16 units: with more of them it is made at once. */
const MAX_UNITS = 65_536;

interface ReportsOptions {
  readonly forwarder: Forwarder;
  readonly counters: Counters;
  readonly waitingFeeds: () => number;
  /** Takes the entries that can't be sent, without a newline at the end. */
  readonly write: (entry: string) => void;
}

export class Reports {
  readonly #options: ReportsOptions;
  readonly #counts: CountsSince;
  readonly #timer: NodeJS.Timeout;
  #entries: [entry: string, isOfClient: boolean][] = [];
  #units = 0;
  #feeds = 0;

  constructor(options: ReportsOptions) {
    this.#options = options;
    this.#counts = new CountsSince(options.counters);
    this.#timer = setInterval(() => this.send(), EACH_MS).unref();
  }

  addEntry(entry: string, isOfClient: boolean): void {
    // A longer one would not fit into a message.
    const kept = entry.slice(0, MAX_UNITS);
    this.#entries.push([kept, isOfClient]);
    this.#units += kept.length;
    if (this.#units >= MAX_UNITS) this.send();
  }

  /** Sends the last report. */
  close(): void {
    clearInterval(this.#timer);
    this.send();
  }

  /** Sends what there is, before any request that is forwarded from now on. */
  send(): void {
    const { forwarder, waitingFeeds, write } = this.#options;
    const entries = this.#entries;
    const feeds = waitingFeeds();
    // What was counted while the owner is away is reported when it is back.
    const counts = forwarder.isConnected ? this.#counts.take() : undefined;
    if (counts === undefined && entries.length === 0 && feeds === this.#feeds) return;
    this.#entries = [];
    this.#units = 0;
    if (forwarder.report({ counts, feeds, entries })) this.#feeds = feeds;
    else for (const [entry] of entries) write(entry);
  }
}
