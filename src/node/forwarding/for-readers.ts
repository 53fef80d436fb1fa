import type { Log } from '../../base/system/contract.ts';
import { addCounts, Counters } from '../../base/system/counters.ts';
import type { SettingsStore } from '../../core/config/config-store.ts';
import type { Registry } from '../../database/registry/contract.ts';
import type { ReaderReport } from './frames.ts';
import { SettingsVersion } from './settings-version.ts';

/** The processes of a server that has readers. */
export interface ReadersStatus {
  /** Readers that accept requests. */
  readonly accepting: number;
  /** Readers, and owners of the databases, that were started in place of others which had ended. */
  readonly restarts: number;
  readonly ownerRestarts: number;
}

/** What a server does for its readers besides answering requests: it counts and logs what they report, and names its settings. */
export class ForReaders {
  readonly settings = new SettingsVersion();
  /** The settings of another server, if they are used in place of own ones. */
  followed: { readonly version: string } | undefined;
  readonly #addEntry: (entry: string, isOfClient: boolean) => void;
  #counters = new Counters();
  #feeds = 0;

  constructor(addEntry: (entry: string, isOfClient: boolean) => void) {
    this.#addEntry = addEntry;
  }

  /** The name of the present settings. */
  get version(): string {
    return this.followed?.version ?? this.settings.current;
  }

  get counters(): Counters {
    return this.#counters;
  }

  /** Returns the counters of a core that is opened: they begin at 0. */
  begin(): Counters {
    this.#counters = new Counters();
    this.#counters.waitingAtReaders = () => this.#feeds;
    return this.#counters;
  }

  /** Names the settings of a core that was opened. */
  follow(settings: SettingsStore, registry: Pick<Registry, 'keepNote'>, log: Log): Promise<void> {
    this.followed = undefined;
    return this.settings.follow(settings, registry, log);
  }

  /** See `OwnerSocketOptions`. */
  readonly take = ({ counts, entries }: Omit<ReaderReport, 'feeds'>, feeds: number): void => {
    this.#feeds = feeds;
    if (counts !== undefined) addCounts(this.#counters, counts);
    for (const [entry, isOfClient] of entries) this.#addEntry(entry, isOfClient);
  };
}
