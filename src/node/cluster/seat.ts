import { DatabaseError } from '../../base/errors/database-error.ts';
import { must } from '../../base/shared/assert.ts';
import type { PlainRequest } from '../../base/shared/message.ts';
import type { ConfigStore, Log } from '../../base/system/contract.ts';
import type { Members } from '../../storage/postgres/members/members.ts';
import { Cluster } from './cluster.ts';

/** The section of the settings that names the servers of databases: `name = settee@host:port`. */
const PINS = 'database_owners';
/** How soon the servers are told again what they could not be told, in milliseconds. */
const PINS_AGAIN_MS = 5_000;

/** The storage that the servers share. */
interface SharedStorage {
  /** Undefined before this server has looked who owns the storage. */
  readonly members: Members | undefined;
  forwardingKey(): Promise<string>;
  /** Whether this server owns the storage. */
  readonly isOwner: boolean;
  /** Another server that owns it. */
  readonly owner: object | undefined;
}

interface SeatOptions {
  readonly home: SharedStorage;
  readonly log: Log;
  readonly headersFor: (request: PlainRequest) => Readonly<Record<string, string>>;
}

/** This server's place among those that share a storage. It is taken when the server first looks at who owns the storage. */
export class Seat {
  readonly #options: SeatOptions;
  #opening: Promise<Cluster> | undefined;
  #cluster: Cluster | undefined;
  #stopPins: (() => void) | undefined;
  #pinsAgain: NodeJS.Timeout | undefined;

  constructor(options: SeatOptions) {
    this.#options = options;
  }

  /** Fails if the storage can't be reached. */
  async cluster(): Promise<Cluster> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #open(): Promise<Cluster> {
    const { home, log, headersFor } = this.#options;
    const key = await home.forwardingKey();
    const members = must(home.members, 'the server takes part');
    // An owner that takes no part owns all databases.
    const hasOtherOwner = () => {
      const isKnown = members.membership?.members.some(({ isCoordinator }) => isCoordinator) === true;
      return !home.isOwner && home.owner !== undefined && !isKnown;
    };
    this.#cluster = new Cluster({ members, hasOtherOwner, key, log, headersFor });
    return this.#cluster;
  }

  /** Undefined until it was taken. */
  get taken(): Cluster | undefined {
    return this.#cluster;
  }

  /** For a server that does not own the storage: the settings of the one that does; undefined until they have come. */
  get settings(): ConfigStore | undefined {
    const settings = this.#cluster?.settings;
    return settings === undefined || settings.version === '' ? undefined : settings;
  }

  /** Fails with `storage_blocked` if they did not come in time. */
  async whenSettings(): Promise<ConfigStore> {
    const cluster = await this.cluster();
    await cluster.whenSettings(() => cluster.settings.version !== '');
    const { settings } = this;
    if (settings !== undefined) return settings;
    throw new DatabaseError(
      'storage_blocked',
      'The server that owns the storage does not answer. It may be starting: try again in a moment.',
    );
  }

  /** Has the servers follow what the settings say of the owners of databases. */
  followPins(settings: ConfigStore): void {
    this.#stopPins?.();
    const { home, log } = this.#options;
    const set = () => {
      const pins = new Map(Object.entries(settings.section(PINS)));
      clearTimeout(this.#pinsAgain);
      home.members?.setPins(pins).catch((error: unknown) => {
        log.error(`[${PINS}] is not followed yet; it is tried again.`, error);
        if (home.isOwner) this.#pinsAgain = setTimeout(set, PINS_AGAIN_MS).unref();
      });
    };
    this.#stopPins = settings.onChange(({ section }) => {
      if (section === PINS) set();
    });
    set();
  }

  /** See `Cluster.withdraw`. */
  async withdraw(): Promise<void> {
    await this.#cluster?.withdraw();
  }

  close(): void {
    this.#stopPins?.();
    clearTimeout(this.#pinsAgain);
    this.#cluster?.close();
  }
}
