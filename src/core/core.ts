/**
 * The service without a platform: storage, time, randomness, settings and log are passed in, and requests go
 * through one function. Hosts (Node, a worker, tests) only carry requests to it.
 */

import { Access } from '../accounts/access/access.ts';
import { AccessGuard } from '../accounts/access/write-guard.ts';
import { authenticationDatabase } from '../accounts/settings.ts';
import { isDatabaseError } from '../base/errors/database-error.ts';
import { functionsUnavailable } from '../base/errors/functions-unavailable.ts';
import { ByteBudget, LONGEST_WAIT_MS } from '../base/shared/byte-budget.ts';
import { CacheBudget } from '../base/shared/cache-budget.ts';
import type { Clock, RandomBytes } from '../base/shared/clock.ts';
import { type MaybePromise, orElse } from '../base/shared/maybe-promise.ts';
import type { Handle } from '../base/shared/message.ts';
import { Notifier } from '../base/shared/notifier.ts';
import { ActiveTasks } from '../base/system/active-tasks.ts';
import type { ConfigStore, Gzip, Log, Settings } from '../base/system/contract.ts';
import { Counters, type Gauges } from '../base/system/counters.ts';
import { silentLog } from '../base/system/log.ts';
import { bufferedLog, LogBuffer, type LogTail } from '../base/system/log-buffer.ts';
import { Statistics } from '../base/system/statistics.ts';
import { REPLICATOR_DATABASE } from '../base/system/system-databases.ts';
import { Uuids } from '../base/system/uuids.ts';
import { DatabaseFeeds } from '../database/changes/feeds.ts';
import type { Md5 } from '../database/documents/md5.ts';
import type { Registry } from '../database/registry/contract.ts';
import { openRegistry } from '../database/registry/registry.ts';
import type { CreateWriteGuard } from '../database/store/contract.ts';
import { defaultSettings } from '../database/store/settings.ts';
import { createHandle } from '../http/http-service.ts';
import type { Beginnings, Gateway, Services } from '../http/request/context.ts';
import type { DeferredParts } from '../http/routing/routes.ts';
import type { AccountsPart } from '../http/server/accounts/accounts-part.ts';
import type { PageFiles } from '../http/server/administration/pages.ts';
import { WriteValidation } from '../queries/design/write-validation.ts';
import type { ReplicatorHost } from '../replication/contract.ts';
import type { PageStore } from '../storage/page-store.ts';
import { createConfig, SettingsStore } from './config/config-store.ts';
import { followInteger } from './config/follow.ts';
import { createSettingsDocument } from './config/settings-document.ts';
import type {
  AdministrationOptions,
  DeferredCode,
  LoadDeferredCode,
  QueryServer,
  ViewOptions,
  ViewService,
} from './deferred/contract.ts';
import { Deferred } from './deferred/deferred.ts';
import { Replications } from './deferred/replications.ts';
import { ReplicatorGuard } from './deferred/replicator-guard.ts';

const defaultBytesInFlight = 268_435_456;

export interface CoreOptions {
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
  /** The files of the administration page. Without them `_utils/` is answered with 501. */
  readonly pages?: PageFiles | undefined;
  /** Whether the documents of `_replicator` are carried out. Default true. */
  readonly replicatesByDocuments?: boolean | undefined;
  /** Where the host counts received bytes of bodies before the core gets them. Its limit follows the setting. Default: one of the core's own. */
  readonly bytesInFlight?: ByteBudget | undefined;
  /** Default: any number of responses begin at a time. */
  readonly beginnings?: Beginnings | undefined;
  /** The host's own digest for revisions, if it has a faster one than WebAssembly. */
  readonly md5?: Md5 | undefined;
  /** The host's own compression, if it has one with levels (`attachments/compression_level`). */
  readonly gzip?: Gzip | undefined;
}

/** See `ReplicatorHost`. */
export type Network = Pick<ReplicatorHost, 'fetch' | 'fetchThrough' | 'guard' | 'isBrowserFetch' | 'mostConnections'>;

export interface Core {
  readonly handle: Handle;
  readonly registry: Registry;
  readonly config: ConfigStore;
  /** Retries failed replications at once, and makes those over the network open new connections. */
  networkIsBack(): void;
  readonly replications: Pick<Replications, 'activity' | 'resume'>;
  /** From now on new requests get a 503 `shutting_down`; those under way continue. */
  beginShutdown(): void;
  /** Refuses new requests, writes what is not stored yet, and closes the storage. Call it once. */
  close(): Promise<void>;
}

/** Opens the service. Fails with `bad_request` on an invalid setting, and with any failure of the storage. */
export async function createCore(options: CoreOptions): Promise<Core> {
  const { storage, clock, random, basePath = '', engine } = options;
  const given = options.config;
  const config = given instanceof SettingsStore ? given : createConfig(given, options.log);
  const { log, logTail } = logOf(options, config);
  const cache = pageCache(config);
  const tasks = new ActiveTasks(clock);
  const common = { store: storage, clock, config, log, cache, tasks };
  const code = new Deferred(() => loadCode(options.deferred));
  const queryServer = new Deferred(
    () => code.use((loaded) => loaded.queryServer({ clock, config, log })),
    (server) => server.close(),
  );
  /** The names of databases that have design documents, or may have received one. */
  const designs = new Notifier<string>();
  const accounts: Deferred<AccountsPart> = new Deferred(
    () =>
      code.use((loaded) =>
        loaded.accounts({
          ...{ config, clock, random, log },
          ...{ databases: registry, counters, accountsVersion: () => access.accountsVersion },
          onSessionEnd: (name) => access.sessionEnded(name),
        }),
      ),
    (part) => part.close(),
  );
  const createGuard = guardedBy({
    ...{ code, queryServer, designs, accounts, config },
    expectFunctions: () => options.deferred.expectFunctions?.(config),
  });
  const counters = new Counters();
  const registry: Registry = await openRegistry({ ...common, random, createGuard, counters, md5: options.md5 });
  const access = new Access(config, registry);
  const feeds = new DatabaseFeeds(registry);
  if (config !== given) await config.keepIn(createSettingsDocument(registry), ({ reason }) => log.error(reason));
  const { views, design, find, administration } = deferParts(code, queryServer, {
    ...common,
    databases: registry,
    engine,
    random,
    logTail,
    pages: options.pages,
    restart: options.restart,
  });
  designs.listen((database) => buildSoon(views, database, log));
  hashAdmins(accounts, config, log);
  const services = servicesOf({ ...common, registry, access, feeds, counters, random, basePath }, options);
  const replications = new Replications(code, (request) => handle(request), {
    ...{ ...options, ...options.replications, ...common },
    ...{ registry, basePath, bytesInFlight: services.bytesInFlight },
    standings: {
      of: (name) => (name === null ? access.standingOfNobody : accounts.use((part) => part.standingOf(name))),
      onChange: (listener) => access.onStandingsChange(listener),
    },
  });
  const handle = createHandle(
    services,
    partsOf({ accounts, views, design, find, replicator: replications, administration }),
    () => running.isClosing,
    options.gateway,
  );
  const running: RunningCore = new RunningCore({
    ...{ handle, config, replications, feeds, views, registry },
    ...{ code, queryServer, accounts, storage },
  });
  if (options.replicatesByDocuments !== false) replications.begin();
  return running;
}

interface ServiceOptions {
  readonly store: PageStore;
  readonly config: ConfigStore;
  readonly log: Log;
  readonly clock: Clock;
  readonly tasks: ActiveTasks;
  readonly registry: Registry;
  readonly access: Access;
  readonly feeds: DatabaseFeeds;
  readonly counters: Counters;
  readonly random: RandomBytes;
  readonly basePath: string;
}

/** Services that all requests share. */
function servicesOf({ store, counters, random, ...shared }: ServiceOptions, options: CoreOptions): Services {
  const { config, clock, registry, feeds } = shared;
  return {
    ...shared,
    gzip: options.gzip,
    bytesInFlight: followBytesInFlight(config, options.bytesInFlight ?? new ByteBudget(0, LONGEST_WAIT_MS)),
    beginnings: options.beginnings,
    uuids: new Uuids(config, clock, random),
    statistics: new Statistics(clock, config, counters, gaugesOf(registry, feeds, store)),
  };
}

interface CoreServices {
  readonly handle: Handle;
  readonly config: ConfigStore;
  readonly replications: Replications;
  readonly feeds: DatabaseFeeds;
  readonly views: Deferred<ViewService>;
  readonly registry: Registry;
  readonly code: Deferred<DeferredCode>;
  readonly queryServer: Deferred<QueryServer>;
  readonly accounts: Deferred<AccountsPart>;
  readonly storage: PageStore;
}

class RunningCore implements Core {
  readonly handle: Handle;
  readonly registry: Registry;
  readonly config: ConfigStore;
  readonly replications: Replications;
  readonly #services: CoreServices;
  isClosing = false;

  constructor(services: CoreServices) {
    this.#services = services;
    this.handle = services.handle;
    this.registry = services.registry;
    this.config = services.config;
    this.replications = services.replications;
  }

  networkIsBack(): void {
    this.replications.wake();
  }

  beginShutdown(): void {
    this.isClosing = true;
    void this.replications.close();
    this.#services.feeds.end();
  }

  async close(): Promise<void> {
    const { replications, feeds, views, registry, code, queryServer, accounts, storage } = this.#services;
    this.isClosing = true;
    await replications.close();
    feeds.end();
    await views.close();
    // Writes that were accepted for later are validated while the databases are closed.
    await registry.close().finally(() => Promise.all([code.close(), queryServer.close(), accounts.close()]));
    await storage.close();
  }
}

interface GuardOptions {
  readonly code: Deferred<DeferredCode>;
  readonly queryServer: Deferred<QueryServer>;
  readonly designs: Notifier<string>;
  readonly accounts: Deferred<AccountsPart>;
  readonly config: ConfigStore;
  /** See `LoadDeferredCode`. */
  readonly expectFunctions: () => void;
}

/** Checks each write by its writer, and validates it with the functions of its database's design documents; `designs` is notified of new ones. */
function guardedBy({ code, queryServer, designs, accounts, config, expectFunctions }: GuardOptions): CreateWriteGuard {
  const users = () => accounts.use(({ userWrites }) => userWrites);
  const isUsersDatabase = (name: string) => name === authenticationDatabase(config);
  return (database) => {
    const validation = new WriteValidation(
      database,
      async (...wanted) => queryServer.use((server) => server.openValidators(...wanted)),
      { onDesigns: () => designs.notify(database.name), expectFunctions },
    );
    const isReplicator = database.name === REPLICATOR_DATABASE;
    const inner = isReplicator ? new ReplicatorGuard(database, code, validation) : validation;
    return new AccessGuard({ database, inner, users, isUsersDatabase });
  };
}

function logOf({ log = silentLog, logTail, clock }: CoreOptions, config: ConfigStore) {
  if (logTail !== undefined) return { log, logTail };
  const buffer = new LogBuffer();
  return { log: bufferedLog(log, buffer, clock, config), logTail: buffer };
}

function gaugesOf(registry: Registry, feeds: DatabaseFeeds, storage: PageStore): Gauges {
  return {
    openDatabases: () => registry.openCount,
    openFiles: () => storage.openFiles ?? 0,
    clientsOfChanges: () => feeds.waiting,
  };
}

function pageCache(config: ConfigStore): CacheBudget {
  const cache = new CacheBudget(0);
  followInteger(config, 'svc', 'page_cache_bytes', (bytes = defaultSettings.cacheBytes) => cache.resize(bytes));
  return cache;
}

/** The parts loaded on first use, in the form for the routes. */
function partsOf(parts: { readonly [Name in keyof DeferredParts]: { get: DeferredParts[Name] } }): DeferredParts {
  const { accounts, views, design, find, replicator, administration } = parts;
  return {
    accounts: () => accounts.get(),
    views: () => views.get(),
    design: () => design.get(),
    find: () => find.get(),
    replicator: () => replicator.get(),
    administration: () => administration.get(),
  };
}

/** Replaces plain passwords of server admins by their hashes at once; requests wait for that if it matters. */
function hashAdmins(accounts: Deferred<AccountsPart>, config: ConfigStore, log: Log): void {
  if (Object.keys(config.section('admins')).length === 0) return;
  const hashed = orElse(
    () => accounts.use((part) => part.settled()),
    (error) => log.error('Accounts can not be loaded; the next request that needs them tries again.', error),
  );
  // Both results are handled: this never rejects.
  void hashed;
}

function followBytesInFlight(config: ConfigStore, budget: ByteBudget): ByteBudget {
  followInteger(config, 'httpd', 'max_bytes_in_flight', (bytes = defaultBytesInFlight) => budget.resize(bytes));
  return budget;
}

/** The parts that hold no resources besides databases. */
function deferParts(
  code: Deferred<DeferredCode>,
  queryServer: Deferred<QueryServer>,
  needs: Omit<ViewOptions, 'sandbox'> & AdministrationOptions,
) {
  const views = new Deferred(
    () => queryServer.use(({ sandbox }) => code.use((loaded) => loaded.views({ ...needs, sandbox }))),
    (service) => service.close(),
  );
  const design = new Deferred(() =>
    views.use(({ service }) =>
      queryServer.use(({ programs }) => code.use((loaded) => loaded.design({ programs, views: service }))),
    ),
  );
  const find = new Deferred(() =>
    views.use(({ service }) => code.use((loaded) => loaded.find(service, needs.clock, needs.config))),
  );
  const administration = new Deferred(() => code.use((loaded) => loaded.administration(needs)));
  return { views, design, find, administration };
}

function loadCode(load: LoadDeferredCode): MaybePromise<DeferredCode> {
  return orElse(load, (cause) => {
    throw functionsUnavailable('The code that runs views, queries and functions of documents', cause);
  });
}

/** The first query then need not wait for an index. */
function buildSoon(views: Deferred<ViewService>, database: string, log: Log): void {
  const begun = orElse(
    () => views.use((service) => service.buildSoon(database)),
    (error) => {
      if (isDatabaseError(error, 'shutting_down')) return;
      log.info(`no index is built in the background in ${database}: ${String(error)}`);
    },
  );
  // Both results are handled: this never rejects.
  void begun;
}
