/** All code loaded on first use. Browsers have this in a separate file, so only entries may import it. */

import { positiveSetting } from '../../base/system/config.ts';
import { designHandlers } from '../../http/queries/design/design-handlers.ts';
import { functionFilters } from '../../http/queries/design/filter-functions.ts';
import { findHandlers } from '../../http/queries/find/find-handlers.ts';
import { selectorFilters } from '../../http/queries/find/selector-filter.ts';
import { viewHandlers } from '../../http/queries/views/view-handlers.ts';
import { DesignPrograms } from '../../queries/design/design-programs.ts';
import { openValidators } from '../../queries/design/validators.ts';
import { createFinder } from '../../queries/find/finder.ts';
import { createQueryMappers } from '../../queries/find/query-mapper.ts';
import type { Sandbox } from '../../queries/sandbox/contract.ts';
import { BackgroundBuilds } from '../../queries/views/background-builds.ts';
import { createViewIndexes } from '../../queries/views/view-indexes.ts';
import { replicationDocumentGuard } from '../../replication/documents/document-guard.ts';
import { readFilter, runReplication } from '../../replication/run/replication-run.ts';
import { createAccounts } from './accounts-part.ts';
import { createAdministrationPart } from './administration-part.ts';
import type {
  DeferredCode,
  LoadDeferredCode,
  QueryServer,
  QueryServerOptions,
  ViewOptions,
  ViewService,
} from './contract.ts';
import { createReplicatorPart } from './replicator-part.ts';

/** Each core gets its own sandbox, and closes it. Without one functions of documents get a 501. */
export function createDeferredCode(createSandbox: (options: QueryServerOptions) => Sandbox | undefined): DeferredCode {
  return {
    queryServer: (options) => createQueryServer(options, createSandbox(options)),
    views: createViews,
    accounts: createAccounts,
    design: (service) => ({ service, handlers: designHandlers, ...functionFilters(service) }),
    find: (views, clock, config) => {
      const service = createFinder({
        views,
        clock,
        maxSteps: () => positiveSetting(config, 'svc', 'max_selector_steps'),
      });
      return { service, handlers: findHandlers, ...selectorFilters(service) };
    },
    administration: createAdministrationPart,
    replicator: createReplicatorPart(runReplication, readFilter),
    replicationDocumentGuard,
  };
}

/** For hosts that have this code available. The sandbox serves one core. */
export function deferredAtHand(sandbox?: Sandbox): LoadDeferredCode {
  const code = createDeferredCode(() => sandbox);
  return () => code;
}

function createQueryServer({ config, log }: QueryServerOptions, sandbox: Sandbox | undefined): QueryServer {
  const programs = new DesignPrograms({ sandbox, config, log });
  return {
    sandbox,
    programs,
    openValidators: (database, designs) => openValidators(database, designs, { programs, log }),
    close: () => sandbox?.close(),
  };
}

function createViews({ databases, engine, ...options }: ViewOptions): ViewService {
  const mappers = { query: createQueryMappers() };
  const service = createViewIndexes({ ...options, mappers, ...(engine === undefined ? {} : { engine }) });
  const background = new BackgroundBuilds({
    databases,
    log: options.log,
    build: (database, design) => service.build(database, design),
    forget: (name) => service.forget(name),
  });
  return {
    service,
    handlers: viewHandlers,
    buildSoon: (database) => background.schedule(database),
    close: async () => {
      await background.close();
      await service.close();
    },
  };
}
