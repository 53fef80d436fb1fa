/**
 * The service without a platform: storage, time, randomness, settings and log are passed in, and requests go
 * through one function. Hosts (Node, a worker, tests) only carry requests to it.
 */

import { Access } from '../accounts/access/access.ts';
import type { TokenIssuers } from '../accounts/contract.ts';
import { ByteBudget, MAX_WAIT_MS } from '../base/shared/byte-budget.ts';
import { CacheBudget } from '../base/shared/cache-budget.ts';
import type { Clock, RandomBytes } from '../base/shared/clock.ts';
import type { Handle } from '../base/shared/message.ts';
import { Notifier } from '../base/shared/notifier.ts';
import { ActiveTasks } from '../base/system/active-tasks.ts';
import { followInteger } from '../base/system/config.ts';
import type { ConfigStore, Gzip, Log, Settings } from '../base/system/contract.ts';
import { Counters, type Gauges } from '../base/system/counters.ts';
import { silentLog } from '../base/system/log.ts';
import { bufferedLog, LogBuffer, type LogTail } from '../base/system/log-buffer.ts';
import { Statistics } from '../base/system/statistics.ts';
import { Uuids } from '../base/system/uuids.ts';
import { DatabaseFeeds } from '../database/changes/feeds.ts';
import type { Md5 } from '../database/documents/md5.ts';
import type { Registry } from '../database/registry/contract.ts';
import { defaultSettings } from '../database/store/settings.ts';
import { createHandle } from '../http/http-service.ts';
import type { Beginnings, Gateway, Services } from '../http/request/context.ts';
import type { PageFiles } from '../http/server/administration/administration-service.ts';
import type { ReplicatorHost, Standings } from '../replication/contract.ts';
import type { PageStore } from '../storage/page-store.ts';
import { createSettingsDocument } from './config/config-storage.ts';
import { createConfig, SettingsStore } from './config/config-store.ts';
import { AutoPurges } from './deferred/auto-purges.ts';
import type { LoadDeferredCode } from './deferred/contract.ts';
import { buildSoon, deferParts, hashAdmins, type Parts } from './deferred/parts.ts';
import { Replications } from './deferred/replications.ts';
import { createWriteGuards } from './deferred/write-guards.ts';
import { createHandleOf, openDatabases, type SharingOptions } from './sharing.ts';

/** Of the setting `httpd/max_bytes_in_flight`. */
export const DEFAULT_BYTES_IN_FLIGHT = 268_435_456;

export interface CoreOptions extends SharingOptions {
  readonly storage: PageStore;
  readonly clock: Clock;
  readonly random: RandomBytes;
  /** Settings by section and key, over the defaults of `core/config/known-settings.ts`; or a store that the caller persists. */
  readonly config?: Settings | SettingsStore | undefined;
  /**
   * The path below which the service is mounted, such as `/db`: requests come with it, and `Location` has it; requests
   * outside it get a 404. In the URL parser's form, without a slash at its end. Default: the root.
   */
  readonly basePath?: string;
  /** What is in front of the service, for hosts that others reach. */
  readonly gateway?: Gateway | undefined;
  /** Without one the log is kept only in memory. */
  readonly log?: Log;
  /** What `_log` reads, if the host keeps the log. By default the core keeps its own latest entries. */
  readonly logTail?: LogTail | undefined;
  /** Returns the code of views, queries and functions of documents; called when any of it is first needed. */
  readonly deferred: LoadDeferredCode;
  /** Names the JavaScript engine and its version. View indexes of another engine are rebuilt: it may sort strings differently. */
  readonly engine?: string;
  /** The network, for replications with other services; without one they are refused. */
  readonly network?: Network | undefined;
  /**
   * The absolute address below which pages reach this service, without a slash at its end: a replication with an address below it is
   * internal. Undefined if the host does not know it, and if others respond at that address, too.
   */
  readonly ownBase?: (() => string | undefined) | undefined;
  /** Closes and reopens the service; resolves when that is certain to happen. Without it `_restart` is answered with 501. */
  readonly restart?: (() => Promise<void>) | undefined;
  /** The data of replications that outlives the core, and the listener for their state. See `ReplicatorHost`. */
  readonly replications?: Pick<ReplicatorHost, 'requests' | 'onActivity'> | undefined;
  /** The files of the administration page. Without them `_utils/` is answered with 501, except for the page's settings. */
  readonly pages?: PageFiles | undefined;
  /** Whether the documents of `_replicator` are carried out. Default true. */
  readonly replicatesByDocuments?: boolean | undefined;
  /** Where the host counts received bytes of bodies before the core gets them. Its limit follows the setting. Default: one of the core's own. */
  readonly bytesInFlight?: ByteBudget | undefined;
  /** Default: any number of responses begin at a time. */
  readonly beginnings?: Beginnings | undefined;
  /** What `_up` says in addition. */
  readonly health?: Health | undefined;
  /** What `_prometheus` says in addition. */
  readonly metrics?: Services['hostMetrics'];
  /** The list of running tasks, for hosts that publish them. Default: one of the core's own. */
  readonly tasks?: ActiveTasks | undefined;
  /** What is counted; for hosts in which several services count together. Default: counters of its own. */
  readonly counters?: Counters | undefined;
  /** The issuers of tokens whose keys the host fetches. Without it only keys in the settings count. They are closed with the core. */
  readonly tokenIssuers?: TokenIssuers | undefined;
  /** Begins work that the owner of the list of databases does beside requests, and returns what ends it: that is closed before the core. */
  readonly background?: ((core: Pick<Core, 'registry' | 'handle' | 'config'>) => Background) | undefined;
  /** The host's own digest for revisions, if it has a faster one than WebAssembly. */
  readonly md5?: Md5 | undefined;
  /** The host's own compression, if it has one with levels (`attachments/compression_level`). */
  readonly gzip?: Gzip | undefined;
}

interface Background {
  /** Called more than once. */
  close(): Promise<void>;
}

/** Returns members of the response of `_up`. */
export type Health = NonNullable<Services['health']>;

/** See `ReplicatorHost`. */
export type Network = Pick<
  ReplicatorHost,
  'fetch' | 'fetchThrough' | 'guard' | 'isBrowserFetch' | 'isOnline' | 'mostConnections' | 'tokenSource'
>;

export interface Core {
  readonly handle: Handle;
  readonly registry: Registry;
  readonly config: ConfigStore;
  /** Retries failed replications at once, and makes those over the network open new connections. */
  networkIsBack(): void;
  readonly replications: Pick<Replications, 'activity' | 'resume'>;
  /** The number of changes feeds that wait. */
  readonly waitingFeeds: number;
  /** Gives up the databases that `MemberOptions.placement` says are not its own any more. Resolves when others may open them. Never fails. */
  rearrange(): Promise<void>;
  /** From now on new requests get a 503 `shutting_down`; those under way continue. */
  beginShutdown(): void;
  /** Refuses new requests, writes what is not stored yet, and closes the storage. Call it once. */
  close(): Promise<void>;
}

/** Opens the service. Fails with `bad_request` on an invalid setting, and with any failure of the storage. */
export async function createCore(options: CoreOptions): Promise<Core> {
  const { storage, clock, random, basePath = '', engine, restart, network, ownBase, tokenIssuers } = options;

  // What all parts use.
  const given = options.config;
  const own = given instanceof SettingsStore ? given : createConfig(given, options.log);
  const { reader, member } = options;
  const config: ConfigStore = reader?.config ?? member?.follows?.config ?? own;
  const { log, logTail } = logOf(options, config);
  const common = {
    store: storage,
    clock,
    random,
    config,
    log,
    cache: pageCache(config),
    tasks: options.tasks ?? new ActiveTasks(clock),
  };
  const { counters = new Counters() } = options;

  // The parts that are loaded later, and the databases: each needs the other.
  const parts = deferParts({
    ...{ ...common, counters, load: options.deferred, engine, logTail, restart, pages: options.pages, tokenIssuers },
    ...{ registry: () => registry, access: () => access, owns: member && ((db: string) => member.placement.owns(db)) },
    ...{ openIndexes: (reader ?? member)?.code.openIndexes, buildsIndexes: reader === undefined },
  });
  /** The names of databases that have design documents, or may have received one. */
  const designs = new Notifier<string>();
  const createGuard = createWriteGuards({
    ...{ parts, config, random, registry: () => registry },
    onDesigns: (database) => designs.notify(database),
    expectFunctions: () => options.deferred.expectFunctions?.(config),
  });
  const ofDatabases = { ...common, createGuard, counters, md5: options.md5 };
  const registry: Registry = await openDatabases(options, ofDatabases, () => access);
  const access = new Access(config, registry);
  tokenIssuers?.onChange(() => access.sessionsChanged());
  const feeds = new DatabaseFeeds(registry);
  if (config === own && own !== given)
    await own.keepIn(createSettingsDocument(registry), ({ reason }) => log.error(reason));

  // Replications, which send requests to the service itself.
  const bytesInFlight = followBytesInFlight(config, options.bytesInFlight ?? new ByteBudget(0, MAX_WAIT_MS));
  const replications = new Replications(parts.code, (request) => handle(request), {
    ...{ ...common, registry, basePath, bytesInFlight, network, ownBase, ...options.replications },
    standings: standingsOf(access, parts),
  });

  const autoPurge = new AutoPurges(parts.code, { registry, config, clock, log, placement: member?.placement });

  // Requests.
  const services: Services = {
    ...{ config, clock, log, tasks: common.tasks, registry, access, feeds, autoPurge, basePath, bytesInFlight },
    ...{ gzip: options.gzip, beginnings: options.beginnings, health: options.health, hostMetrics: options.metrics },
    ...{ isLeftToOwner: reader?.code.isLeftToOwner, sharing: member?.code.askServers(member) },
    storageMetrics: storage.metrics?.bind(storage),
    uuids: new Uuids(config, clock, random),
    statistics: new Statistics(clock, config, counters, gaugesOf({ registry, feeds, storage, counters })),
  };
  const answer = createHandle(services, lateParts(parts, replications), () => running.isClosing, options.gateway);
  const handle: Handle = createHandleOf(options, services, answer);
  const running: RunningCore = new RunningCore({
    ...{ handle, config, replications, autoPurge, feeds, registry, parts, storage },
  });

  // Work in the background, which is that of owners.
  if (reader !== undefined) return running;
  designs.listen((database) => buildSoon(parts, database, common));
  autoPurge.begin();
  if (member?.follows !== undefined) return running;
  hashAdmins(parts, common);
  if (options.replicatesByDocuments !== false) replications.begin();
  running.background = options.background?.(running);
  return running;
}

function lateParts({ accounts, views, design, find, administration }: Parts, replications: Replications) {
  return {
    ...{ accounts: accounts.get, views: views.get, design: design.get, find: find.get },
    ...{ replicator: replications.get, administration: administration.get },
  };
}

interface CoreServices {
  readonly handle: Handle;
  readonly config: ConfigStore;
  readonly replications: Replications;
  readonly autoPurge: AutoPurges;
  readonly feeds: DatabaseFeeds;
  readonly registry: Registry;
  readonly parts: Parts;
  readonly storage: PageStore;
}

class RunningCore implements Core {
  readonly handle: Handle;
  readonly registry: Registry;
  readonly config: ConfigStore;
  readonly replications: Replications;
  readonly #services: CoreServices;
  isClosing = false;
  background: Background | undefined;

  constructor(services: CoreServices) {
    this.#services = services;
    this.handle = services.handle;
    this.registry = services.registry;
    this.config = services.config;
    this.replications = services.replications;
  }

  get waitingFeeds(): number {
    return this.#services.feeds.waiting;
  }

  async rearrange(): Promise<void> {
    const { registry, parts } = this.#services;
    await registry.rearrange?.(async (name) => {
      await parts.views.made?.close(name);
    });
  }

  networkIsBack(): void {
    this.replications.wake();
  }

  beginShutdown(): void {
    this.isClosing = true;
    void this.background?.close();
    void this.replications.close();
    this.#services.feeds.end();
  }

  async close(): Promise<void> {
    const { replications, autoPurge, feeds, registry, parts, storage } = this.#services;
    const { code, queryServer, accounts, views } = parts;
    this.isClosing = true;
    await this.background?.close();
    await replications.close();
    feeds.end();
    await autoPurge.close();
    await views.close();
    // Writes that were accepted for later are validated while the databases are closed.
    await registry.close().finally(() => Promise.all([code.close(), queryServer.close(), accounts.close()]));
    await storage.close();
  }
}

function logOf({ log = silentLog, logTail, clock }: CoreOptions, config: ConfigStore) {
  if (logTail !== undefined) return { log, logTail };
  const buffer = new LogBuffer();
  return { log: bufferedLog(log, buffer, clock, config), logTail: buffer };
}

interface GaugeSources {
  readonly registry: Registry;
  readonly feeds: DatabaseFeeds;
  readonly storage: PageStore;
  readonly counters: Counters;
}

function gaugesOf({ registry, feeds, storage, counters }: GaugeSources): Gauges {
  return {
    openDatabases: () => registry.openCount,
    openFiles: () => storage.openFiles ?? 0,
    clientsOfChanges: () => feeds.waiting + counters.waitingAtReaders(),
  };
}

function pageCache(config: ConfigStore): CacheBudget {
  const cache = new CacheBudget(0);
  followInteger(config, 'svc', 'page_cache_bytes', (bytes = defaultSettings.cacheBytes) => cache.resize(bytes));
  return cache;
}

/** What the service now knows of the users who requested replications. */
function standingsOf(access: Access, { accounts }: Parts): Standings {
  return {
    of: (name) => (name === null ? access.standingOfNobody : accounts.use((part) => part.standingOf(name))),
    onChange: (listener) => access.onStandingsChange(listener),
  };
}

function followBytesInFlight(config: ConfigStore, budget: ByteBudget): ByteBudget {
  followInteger(config, 'httpd', 'max_bytes_in_flight', (bytes = DEFAULT_BYTES_IN_FLIGHT) => budget.resize(bytes));
  return budget;
}
