import { addCounts, Counters } from '../../base/system/counters.ts';
import type { ReaderReport } from '../forwarding/frames.ts';

/** Counts and logs what readers report together with what this process does itself. */
export class ReaderCounts {
  readonly #addEntry: (entry: string, isOfClient: boolean) => void;
  #counters = new Counters();
  #feeds = 0;

  constructor(addEntry: (entry: string, isOfClient: boolean) => void) {
    this.#addEntry = addEntry;
  }

  /** Returns the counters of a core that is opened: they begin at 0. */
  begin(): Counters {
    this.#counters = new Counters();
    this.#counters.waitingAtReaders = () => this.#feeds;
    return this.#counters;
  }

  /** See `OwnerSocketOptions`. */
  readonly take = ({ counts, entries }: Omit<ReaderReport, 'feeds'>, feeds: number): void => {
    this.#feeds = feeds;
    if (counts !== undefined) addCounts(this.#counters, counts);
    for (const [entry, isOfClient] of entries) this.#addEntry(entry, isOfClient);
  };
}
