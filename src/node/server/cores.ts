import type { ByteBudget } from '../../base/shared/byte-budget.ts';
import { systemClock } from '../../base/shared/clock.ts';
import type { Handle } from '../../base/shared/message.ts';
import type { ConfigStore, Log } from '../../base/system/contract.ts';
import type { LogTail } from '../../base/system/log-buffer.ts';
import type { SettingsStore } from '../../core/config/config-store.ts';
import { type Core, type CoreOptions, createCore, type Network } from '../../core/core.ts';
import type { Registry } from '../../database/registry/contract.ts';
import { createGateway } from '../../http/middleware/gateway.ts';
import { answerInternally } from '../cluster/internal-requests.ts';
import { healthOf, metricsOf, type Reported } from '../cluster/reported.ts';
import type { Seat } from '../cluster/seat.ts';
import type { ForReaders, ReadersStatus } from '../forwarding/for-readers.ts';
import { connectionsOfReplications } from '../http/connection-limit.ts';
import { processMetrics } from '../tracing/process-metrics.ts';
import { PublishedTasks } from '../tracing/published-tasks.ts';
import type { Home } from './home.ts';
import type { MemberService } from './owned-service.ts';
import { createPlatform } from './platform.ts';
import { UserDatabases } from './user-databases.ts';

interface CoresOptions {
  readonly home: Home;
  /** Undefined if one server at a time owns all databases. */
  readonly seat: Seat | undefined;
  readonly log: Log;
  readonly logTail: LogTail;
  readonly bytesInFlight: ByteBudget;
  readonly readers: ForReaders;
  readonly options: {
    readonly readers?: { readonly status: () => ReadersStatus } | undefined;
    readonly replicatesByDocuments?: boolean | undefined;
  };
  readonly network: Network;
  readonly ownUrl: () => string | undefined;
  readonly restart: () => Promise<void>;
}

/** The services that a server opens one after another: as the owner of its storage, and as a member beside the owner. */
export class Cores {
  readonly #options: CoresOptions;
  #registry: Registry | undefined;
  /** Whether its list of databases is this server's. */
  #ownsList = false;

  constructor(options: CoresOptions) {
    this.#options = options;
  }

  /** For the owner of the storage. */
  async open(settings: SettingsStore): Promise<Core> {
    const { home, seat, readers, log, options } = this.#options;
    await home.guard?.follow(settings);
    const cluster = await seat?.cluster();
    const member = cluster?.memberOptions(true);
    const core = await this.#create(settings, { config: settings, member, ...this.#reported('owner') });
    // At once: what it opens from now on may have to be given up.
    cluster?.attach(core);
    if (options.readers !== undefined || seat !== undefined) await readers.follow(settings, core.registry, log);
    seat?.followPins(settings);
    return core;
  }

  /** Undefined if the server stands by while another one owns the storage. */
  get member(): MemberService | undefined {
    const { seat } = this.#options;
    if (seat === undefined) return undefined;
    return {
      open: () => this.#openMember(seat),
      get settings() {
        return seat.settings;
      },
    };
  }

  async #openMember(seat: Seat): Promise<Core> {
    await seat.whenSettings();
    const cluster = await seat.cluster();
    const member = cluster.memberOptions(false);
    const { settings } = cluster;
    this.#options.readers.followed = settings;
    const core = await this.#create(settings, { member, ...this.#reported('member') });
    cluster.attach(core);
    return core;
  }

  async #create(
    settings: ConfigStore,
    own: Pick<CoreOptions, 'config' | 'member' | 'health' | 'metrics'>,
  ): Promise<Core> {
    const { home, log, logTail, bytesInFlight, readers, network, ownUrl, restart, options } = this.#options;
    const tasks = new PublishedTasks(systemClock);
    const core = await createCore({
      ...createPlatform(settings, log),
      ...own,
      storage: home.openStore(),
      ...{ log, logTail, bytesInFlight, counters: readers.counters, tasks },
      metrics: () => [...(own.metrics?.() ?? []), ...tasks.metrics, ...processMetrics()],
      network: { ...network, mostConnections: connectionsOfReplications() },
      ownBase: ownUrl,
      replicatesByDocuments: options.replicatesByDocuments,
      restart,
      gateway: createGateway,
      background: (served) => new UserDatabases(served, log),
    });
    this.#registry = core.registry;
    this.#ownsList = own.member?.follows === undefined;
    return core;
  }

  /** Answers what servers of the cluster ask each other, too. */
  handleOf(handle: Handle): Handle {
    return this.#options.seat === undefined
      ? handle
      : answerInternally(() => (this.#ownsList ? this.#registry : undefined), handle);
  }

  /** Begins the counts of a core that is opened. */
  #reported(role: Reported['role']): Pick<CoreOptions, 'health' | 'metrics'> {
    const { home, seat, readers, options } = this.#options;
    const reported: Reported = {
      ...{ role, shared: home.shared, readers: options.readers?.status, counters: readers.begin() },
      cluster: () => seat?.taken,
      registry: () => this.#registry,
    };
    return { health: healthOf(reported), metrics: metricsOf(reported) };
  }
}
