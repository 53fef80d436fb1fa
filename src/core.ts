/**
 * The service without a platform: storage, time, randomness, settings and log are passed in, and requests go
 * through one function. Hosts (Node, a worker, tests) only carry requests to it.
 */

import { DatabaseFeeds } from './changes/feeds.ts';
import type { CreateWriteGuard } from './database/contract.ts';
import { defaultSettings } from './database/settings.ts';
import type { DeferredCode, LoadDeferredCode, QueryServer, ViewNeeds, ViewService } from './deferred/contract.ts';
import { Deferred } from './deferred/deferred.ts';
import { WriteValidation } from './design/write-validation.ts';
import type { Md5 } from './documents/md5.ts';
import { isDatabaseError } from './errors/database-error.ts';
import { functionsUnavailable } from './errors/functions-unavailable.ts';
import { createHandle } from './http/http-service.ts';
import type { Registry } from './registry/contract.ts';
import { openRegistry } from './registry/registry.ts';
import { ByteBudget } from './shared/byte-budget.ts';
import { CacheBudget } from './shared/cache-budget.ts';
import type { Clock, RandomBytes } from './shared/clock.ts';
import { type MaybePromise, orElse } from './shared/maybe-promise.ts';
import type { Handle } from './shared/message.ts';
import { Notifier } from './shared/notifier.ts';
import type { PageStore } from './storage/page-store.ts';
import { ActiveTasks } from './system/active-tasks.ts';
import { createConfig, integerSetting, type Settings } from './system/config.ts';
import type { Log } from './system/contract.ts';
import { silentLog } from './system/log.ts';
import { Uuids } from './system/uuids.ts';

const defaultBytesInFlight = 268_435_456;
/** So long a request waits at most while others have all the bytes that may be in flight. */
const longestWaitMs = 30_000;

export interface CoreOptions {
  readonly storage: PageStore;
  readonly clock: Clock;
  readonly random: RandomBytes;
  /** Settings by section and key, over the defaults of `system/config.ts`. */
  readonly config?: Settings | undefined;
  /**
   * The path below which the service is mounted, such as `/db`: requests come with it, and `Location` has it; what lies
   * outside is answered with 404. As the parser of URLs gives it, without a slash at its end. Default: the root.
   */
  readonly basePath?: string;
  /** Without one nothing is logged. */
  readonly log?: Log;
  /** Gives the code of views, queries and functions of documents; asked when one of them is first needed. */
  readonly deferred: LoadDeferredCode;
  /** Names the JavaScript engine and its version. View indexes of another are built anew: it may order strings otherwise. */
  readonly engine?: string;
  /** The host's own digest for revisions, where it has a quicker one than WebAssembly. */
  readonly md5?: Md5 | undefined;
}

export interface Core {
  readonly handle: Handle;
  readonly registry: Registry;
  /** From now on new requests are answered with 503 `shutting_down`; those under way go on. */
  beginShutdown(): void;
  /** Refuses new requests, writes what is not stored yet, and closes the storage. Call it once. */
  close(): Promise<void>;
}

/** Opens the service. Fails with `bad_request` on a setting that can't be, and with what the storage fails with. */
export async function createCore(options: CoreOptions): Promise<Core> {
  const { storage, clock, random, log = silentLog, basePath = '', engine } = options;
  const config = createConfig(options.config);
  const cache = new CacheBudget(integerSetting(config, 'svc', 'page_cache_bytes') ?? defaultSettings.cacheBytes);
  const tasks = new ActiveTasks(clock);
  const common = { store: storage, clock, config, log, cache, tasks };
  const code = new Deferred(() => loadCode(options.deferred));
  const queryServer = new Deferred(
    () => code.use((loaded) => loaded.queryServer({ clock, config, log })),
    (server) => server.close(),
  );
  /** The names of databases that have design documents, or may have got one. */
  const designs = new Notifier<string>();
  const createGuard: CreateWriteGuard = (database) =>
    new WriteValidation(
      database,
      async (...wanted) => queryServer.use((server) => server.openValidators(...wanted)),
      () => designs.notify(database.name),
    );
  const registry = await openRegistry({ ...common, random, createGuard, md5: options.md5 });
  const { views, design, find } = deferParts(code, queryServer, { ...common, databases: registry, engine });
  designs.listen((database) => buildSoon(views, database, log));
  const feeds = new DatabaseFeeds(registry);
  let isClosing = false;
  const bytesInFlight = new ByteBudget(
    integerSetting(config, 'httpd', 'max_bytes_in_flight') ?? defaultBytesInFlight,
    longestWaitMs,
  );
  const services = {
    bytesInFlight,
    registry,
    feeds,
    config,
    log,
    clock,
    uuids: new Uuids(config, clock, random),
    basePath,
    tasks,
  };
  const parts = { views: () => views.get(), design: () => design.get(), find: () => find.get() };
  return {
    handle: createHandle(services, parts, () => isClosing),
    registry,
    beginShutdown: () => {
      isClosing = true;
      feeds.end();
    },
    close: async () => {
      isClosing = true;
      feeds.end();
      await views.close();
      // Writes that were accepted for later are validated while the databases are closed.
      await registry.close().finally(() => Promise.all([code.close(), queryServer.close()]));
      await storage.close();
    },
  };
}

/** The parts that read databases. */
function deferParts(
  code: Deferred<DeferredCode>,
  queryServer: Deferred<QueryServer>,
  needs: Omit<ViewNeeds, 'sandbox'>,
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
  const find = new Deferred(() => views.use(({ service }) => code.use((loaded) => loaded.find(service, needs.clock))));
  return { views, design, find };
}

function loadCode(load: LoadDeferredCode): MaybePromise<DeferredCode> {
  return orElse(load, (cause) => {
    throw functionsUnavailable('The code that runs views, queries and functions of documents', cause);
  });
}

/** The first query need not wait for an index then. */
function buildSoon(views: Deferred<ViewService>, database: string, log: Log): void {
  const begun = orElse(
    () => views.use((service) => service.buildSoon(database)),
    (error) => {
      if (isDatabaseError(error, 'shutting_down')) return;
      log.info(`no index is built in the background in ${database}: ${String(error)}`);
    },
  );
  // Neither way fails.
  void begun;
}
