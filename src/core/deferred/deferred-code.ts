/** All code loaded on first use. Browsers have this in a separate file, so only entries may import it. */

import { AddressCounts, tooMany } from '../../accounts/passwords/address-counts.ts';
import { Passwords } from '../../accounts/passwords/passwords.ts';
import { adminText, hashOfAdmin, isHashedAdmin } from '../../accounts/passwords/stored-password.ts';
import { iterationLimits } from '../../accounts/settings.ts';
import { integerSetting, positiveSetting } from '../../base/system/config.ts';
import type { Config, ConfigStore } from '../../base/system/contract.ts';
import { networkOf } from '../../base/system/network-of.ts';
import { planOf, purgeOnce } from '../../database/purging/auto-purge.ts';
import { defaultTtl } from '../../database/purging/purge-rules.ts';
import { designHandlers } from '../../http/queries/design/design-handlers.ts';
import { functionFilters } from '../../http/queries/design/filter-functions.ts';
import { findHandlers } from '../../http/queries/find/find-handlers.ts';
import { selectorFilters } from '../../http/queries/find/selector-filter.ts';
import { viewHandlers } from '../../http/queries/views/view-handlers.ts';
import { replicatorHandlers } from '../../http/replication/replicator-handlers.ts';
import { knowsOtherCredentials, whyNoAdmin } from '../../http/server/accounts/authority.ts';
import { administrationHandlers } from '../../http/server/administration/administration-handlers.ts';
import { DesignPrograms } from '../../queries/design/design-programs.ts';
import { openValidators } from '../../queries/design/validators.ts';
import { createFinder } from '../../queries/find/finder.ts';
import { createQueryMappers } from '../../queries/find/query-mapper.ts';
import type { Sandbox } from '../../queries/sandbox/contract.ts';
import { BackgroundBuilds, type Databases } from '../../queries/views/background-builds.ts';
import type { ViewIndexes } from '../../queries/views/contract.ts';
import { createViewIndexes } from '../../queries/views/view-indexes.ts';
import { FairConnectionLimits, HostConnectionLimits } from '../../replication/connection-limits.ts';
import { StoredDocumentGuard } from '../../replication/documents/document-guard.ts';
import { DocumentSecrets } from '../../replication/documents/document-secrets.ts';
import { ReplicationDocuments } from '../../replication/documents/replication-documents.ts';
import { Replicator } from '../../replication/jobs/replicator.ts';
import { readReplicatorSettings } from '../../replication/jobs/replicator-settings.ts';
import { PeerMemory } from '../../replication/peer-memory.ts';
import { ProvidedTokens } from '../../replication/provided-tokens.ts';
import { Reachability } from '../../replication/reachability.ts';
import { readFilter, runReplication } from '../../replication/run/replication-run.ts';
import { createAccounts } from './accounts-part.ts';
import type {
  DeferredCode,
  LoadDeferredCode,
  QueryServer,
  QueryServerOptions,
  ViewOptions,
  ViewService,
} from './contract.ts';

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
    purges: { defaultTtl, purge: purgeOnce, plan: planOf },
    replicator: createReplicatorPart,
    replicationDocumentGuard: (options) => new StoredDocumentGuard(new DocumentSecrets(options)),
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

function createViews({
  databases,
  engine,
  openIndexes,
  buildsIndexes = true,
  owns,
  ...options
}: ViewOptions): ViewService {
  const mappers = { query: createQueryMappers() };
  const all = { ...options, mappers, databases, ...(engine === undefined ? {} : { engine }) };
  const service = openIndexes?.(all) ?? createViewIndexes(all);
  if (!buildsIndexes) return withoutBuilds(service, databases);
  const background = new BackgroundBuilds({
    ...{ databases, owns, log: options.log },
    build: (database, design) => service.build(database, design),
    forget: (name) => service.forget(name),
  });
  return {
    service,
    handlers: viewHandlers,
    buildSoon: (database) => background.schedule(database),
    close: async (database) => {
      if (database === undefined) await background.close();
      await service.close(database);
    },
  };
}

/** The owner builds what is needed. */
function withoutBuilds(service: ViewIndexes, databases: Databases): ViewService {
  const endEvents = databases.onEvent(({ type, name }) => {
    if (type === 'deleted') service.forget(name);
  });
  return {
    service,
    handlers: viewHandlers,
    buildSoon: () => undefined,
    close: (database) => {
      if (database === undefined) endEvents();
      return service.close(database);
    },
  };
}

/** Entries that one address may write into the log without waiting. */
const FREE_ENTRIES = 50;

const createAdministrationPart: DeferredCode['administration'] = ({ clock, config, random, ...needs }) => {
  const entries = new AddressCounts(clock, FREE_ENTRIES);
  const passwords = new Passwords(config, random);
  const service = {
    hashAdminPassword: async (password: string) => adminText(await passwords.hash(password)),
    isUnreadableHash: (text: string) => isHashedAdmin(text) && hashOfAdmin(text) === undefined,
    whyUnusable,
    knowsOthers: knowsOtherCredentials,
    whyNoAdmin: (next: ConfigStore, context: Parameters<typeof whyNoAdmin>[2], methods: readonly string[]) =>
      whyNoAdmin(next, { clock, tokenIssuers: needs.tokenIssuers }, context, methods),
    logTail: needs.logTail,
    admitEntry: (address: string) => {
      const network = networkOf(address);
      const waitMs = entries.wait(network);
      if (waitMs > 0) throw tooMany('Too many entries for the log were sent from this address.', waitMs);
      entries.add(network);
    },
    pages: needs.pages,
    readsOnly: () => config.get('utils', 'read_only') === 'true',
    restart: needs.restart,
  };
  return { service, handlers: administrationHandlers };
};

function whyUnusable(config: Config, text: string): string | undefined {
  if (text === '') return 'the password is empty';
  const hash = hashOfAdmin(text);
  if (hash === undefined) return isHashedAdmin(text) ? 'the text begins like a hash, but is not one' : undefined;
  if (hash.scheme === 'simple') return undefined;
  const { mostChecked } = iterationLimits(config);
  if (hash.iterations <= mostChecked) return undefined;
  return `the password was hashed with ${hash.iterations} iterations, and passwords are checked up to ${mostChecked} (svc_httpd_auth/max_verified_iterations, or max_iterations if that is more)`;
}

/** For requests and peers' responses, if the setting is unset. */
const DEFAULT_BYTES = 268_435_456;

const createReplicatorPart: DeferredCode['replicator'] = ({ registry, config, tasks, ownBase, ...needs }) => {
  const { isBrowserFetch, mostConnections } = needs.host;
  const fair = mostConnections === undefined ? undefined : new FairConnectionLimits(mostConnections);
  const connectionLimits = isBrowserFetch === true ? new HostConnectionLimits() : fair;
  const bytes = () => integerSetting(config, 'httpd', 'max_bytes_in_flight') ?? DEFAULT_BYTES;
  const memory = new PeerMemory(bytes, needs.bytesInFlight);
  const { tokenSource } = needs.host;
  const tokens = tokenSource && new ProvidedTokens(tokenSource, needs.host.clock);
  const host = { ...needs.host, connectionLimits, memory, tokens, reachability: new Reachability() };
  const settings = () => readReplicatorSettings(config);
  const replicator = new Replicator({ run: runReplication, readFilter, host, settings, tasks, ownBase });
  const { clock, log } = host;
  const documents = new ReplicationDocuments({
    ...{ registry, replicator, clock, log, settings },
    secrets: new DocumentSecrets({ registry: () => registry, random: host.random }),
    isAdmin: (name) => config.get('admins', name) !== undefined,
  });
  return {
    service: { replicator, documents },
    handlers: replicatorHandlers,
    followDocuments: () => documents.follow(),
    wake: () => {
      replicator.jobs.wake();
      documents.wake();
    },
    resume: () => replicator.resume(),
    get activity() {
      return replicator.jobs.activity;
    },
    close: async () => {
      tokens?.close();
      await documents.close();
      await replicator.close();
    },
  };
};
