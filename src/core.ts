/**
 * The service without a platform: storage, time, randomness, settings and log are passed in, requests go through one
 * door. Hosts (Node, a worker, tests) only carry requests to it.
 */

import type { CreateWriteGuard } from './database/contract.ts';
import { defaultSettings } from './database/settings.ts';
import { DesignPrograms } from './design/design-programs.ts';
import { WriteJudge } from './design/write-judge.ts';
import { createFetch, type FetchFunction } from './http/fetch-adapter.ts';
import { createHandle } from './http/http-service.ts';
import { parseBasePath } from './http/target.ts';
import type { Sandbox } from './query-server/contract.ts';
import type { Registry } from './registry/contract.ts';
import { openRegistry } from './registry/registry.ts';
import { CacheBudget } from './shared/cache-budget.ts';
import type { Clock, RandomBytes } from './shared/clock.ts';
import type { Handle } from './shared/message.ts';
import type { PageStore } from './storage/page-store.ts';
import { ActiveTasks } from './system/active-tasks.ts';
import { createConfig, integerSetting, type Settings } from './system/config.ts';
import type { Log } from './system/contract.ts';
import { silentLog } from './system/log.ts';
import { Uuids } from './system/uuids.ts';
import { createViewIndexes } from './views/view-indexes.ts';

export interface CoreOptions {
  readonly storage: PageStore;
  readonly clock: Clock;
  readonly random: RandomBytes;
  /** Settings by section and key, over the defaults of `system/config.ts`. */
  readonly config?: Settings;
  /**
   * The path below which the service is mounted, such as `/db`: requests come with it, and `Location` has it; what lies
   * outside is answered with 404. Default: the root.
   */
  readonly basePath?: string;
  /** Without one nothing is logged. */
  readonly log?: Log;
  /** Runs the functions of design documents; it is closed with the service. Without one they answer 501. */
  readonly sandbox?: Sandbox;
  /** Names the JavaScript engine and its version. View indexes of another are built anew: it may order strings otherwise. */
  readonly engine?: string;
}

export interface Core {
  readonly handle: Handle;
  readonly fetch: FetchFunction;
  readonly registry: Registry;
  /** From now on new requests are answered with 503 `shutting_down`; those under way go on. */
  beginShutdown(): void;
  /** Refuses new requests, writes what is not stored yet, and closes the storage. Call it once. */
  close(): Promise<void>;
}

/** Opens the service. Fails with `bad_request` on a setting or base path that can't be, and with what the storage fails with. */
export async function createCore(options: CoreOptions): Promise<Core> {
  const { storage, clock, random, log = silentLog } = options;
  const config = createConfig(options.config);
  const basePath = parseBasePath(options.basePath ?? '');
  const { sandbox, engine } = options;
  const programs = new DesignPrograms({ sandbox, config, log });
  const createGuard: CreateWriteGuard = (database) => new WriteJudge(database, { programs, clock });
  const tasks = new ActiveTasks(clock);
  const cache = new CacheBudget(integerSetting(config, 'svc', 'page_cache_bytes') ?? defaultSettings.cacheBytes);
  const registry = await openRegistry({ store: storage, clock, random, config, log, cache, tasks, createGuard });
  const uuids = new Uuids(config, clock, random);
  const indexParts = { store: storage, clock, config, log, tasks, sandbox, databases: registry };
  const views = createViewIndexes(engine === undefined ? indexParts : { ...indexParts, engine });
  let closing = false;
  const handle = createHandle({ registry, config, log, clock, uuids, tasks, views, programs, basePath }, () => closing);
  return {
    handle,
    fetch: createFetch(handle),
    registry,
    beginShutdown: () => {
      closing = true;
    },
    close: async () => {
      closing = true;
      await views.close();
      // What was accepted for later is judged while the databases are closed.
      await registry.close().finally(() => sandbox?.close());
      await storage.close();
    },
  };
}
