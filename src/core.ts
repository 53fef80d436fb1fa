/**
 * The service without a platform: storage, time, randomness, settings and log are passed in, requests go through one
 * door. Hosts (Node, a worker, tests) only carry requests to it.
 */

import type { CreateWriteGuard } from './database/contract.ts';
import { defaultSettings } from './database/settings.ts';
import type { LoadFunctions } from './deferred/contract.ts';
import { LazyFunctions } from './deferred/lazy-functions.ts';
import { WriteValidation } from './design/write-validation.ts';
import type { Md5 } from './documents/md5.ts';
import { createHandle } from './http/http-service.ts';
import type { Services } from './http/request/context.ts';
import type { Registry } from './registry/contract.ts';
import { openRegistry } from './registry/registry.ts';
import { CacheBudget } from './shared/cache-budget.ts';
import type { Clock, RandomBytes } from './shared/clock.ts';
import { orElse, whenReady } from './shared/maybe-promise.ts';
import type { Handle } from './shared/message.ts';
import type { PageStore } from './storage/page-store.ts';
import { ActiveTasks } from './system/active-tasks.ts';
import { createConfig, integerSetting, type Settings } from './system/config.ts';
import type { Log } from './system/contract.ts';
import { silentLog } from './system/log.ts';
import { Uuids } from './system/uuids.ts';

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
  /** Gives what few requests need, views and functions of documents above all; asked at the first need. */
  readonly functions: LoadFunctions;
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
  const { storage, clock, random, log = silentLog, basePath = '' } = options;
  const config = createConfig(options.config);
  const cache = new CacheBudget(integerSetting(config, 'svc', 'page_cache_bytes') ?? defaultSettings.cacheBytes);
  const { engine } = options;
  const tasks = new ActiveTasks(clock);
  const parts = { store: storage, clock, config, log, cache, tasks };
  const createGuard: CreateWriteGuard = (database) =>
    new WriteValidation(
      database,
      async (...designs) => (await functions.get()).openValidators(...designs),
      () => buildSoon(functions, database.name, log),
    );
  const registry = await openRegistry({ ...parts, random, createGuard, md5: options.md5 });
  const functionParts = { ...parts, databases: registry };
  const functions = new LazyFunctions(
    engine === undefined ? functionParts : { ...functionParts, engine },
    options.functions,
  );
  const uuids = new Uuids(config, clock, random);
  let closing = false;
  const services = { registry, config, log, clock, uuids, basePath, tasks: () => tasks, ...servicesOf(functions) };
  const handle = createHandle(services, () => closing);
  return {
    handle,
    registry,
    beginShutdown: () => {
      closing = true;
    },
    close: async () => {
      closing = true;
      await functions.closeIndexes();
      // What was accepted for later is judged while the databases are closed.
      await registry.close().finally(() => functions.close());
      await storage.close();
    },
  };
}

/** What handlers have of the functions. */
function servicesOf(functions: LazyFunctions): Pick<Services, 'views' | 'programs' | 'finder' | 'functionHandlers'> {
  return {
    functionHandlers: () => whenReady(functions.get(), ({ handlers }) => handlers),
    finder: () => whenReady(functions.get(), ({ finder }) => finder),
    programs: { open: async (...source) => (await functions.get()).programs.open(...source) },
    views: {
      open: (...source) => whenReady(functions.get(), ({ views }) => views.open(...source)),
      temporary: async (...source) => (await functions.get()).views.temporary(...source),
      cleanup: async (database) => (await functions.get()).views.cleanup(database),
    },
  };
}

/** The first query need not wait for an index then. */
function buildSoon(functions: LazyFunctions, database: string, log: Log): void {
  const told = orElse(
    () => whenReady(functions.get(), (service) => service.buildSoon(database)),
    (error) => log.info(`no index is built in the background in ${database}: ${String(error)}`),
  );
  // Neither way fails.
  void told;
}
