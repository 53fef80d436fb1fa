/**
 * The parts loaded on first use, as the core sees them. Browsers have this code in a separate file, since work on documents alone needs
 * none of it, and many apps never load it; other hosts have it available.
 *
 * To add a part: a row in `DeferredCode`, its factory in `deferred-code.ts`, a `Deferred` for it in `parts.ts`, and rows in
 * `http/routes.ts` for the requests that it handles.
 */

import type { TokenIssuers } from '../../accounts/contract.ts';
import type { ByteBudget } from '../../base/shared/byte-budget.ts';
import type { CacheBudget } from '../../base/shared/cache-budget.ts';
import type { Clock, RandomBytes } from '../../base/shared/clock.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { ActiveTasks } from '../../base/system/active-tasks.ts';
import type { Config, ConfigStore, Log } from '../../base/system/contract.ts';
import type { Counters } from '../../base/system/counters.ts';
import type { LogTail } from '../../base/system/log-buffer.ts';
import type { planOf, purgeOnce } from '../../database/purging/auto-purge.ts';
import type { defaultTtl } from '../../database/purging/purge-rules.ts';
import type { Registry } from '../../database/registry/contract.ts';
import type { DesignPart } from '../../http/queries/design/design-handlers.ts';
import type { DesignService } from '../../http/queries/design/design-service.ts';
import type { FindPart } from '../../http/queries/find/find-handlers.ts';
import type { ViewPart } from '../../http/queries/views/view-handlers.ts';
import type { ReplicatorPart } from '../../http/replication/replicator-handlers.ts';
import type { AccountsPart } from '../../http/server/accounts/accounts-part.ts';
import type { AdministrationPart } from '../../http/server/administration/administration-handlers.ts';
import type { PageFiles } from '../../http/server/administration/administration-service.ts';
import type { DesignPrograms } from '../../queries/design/design-programs.ts';
import type { OpenValidators } from '../../queries/design/write-validation.ts';
import type { Sandbox } from '../../queries/sandbox/contract.ts';
import type { Databases } from '../../queries/views/background-builds.ts';
import type { ViewIndexes } from '../../queries/views/contract.ts';
import type { FollowedViewIndexesOptions } from '../../queries/views/following/followed-view-indexes.ts';
import type { ViewIndexesOptions } from '../../queries/views/view-indexes.ts';
import type { ReplicationActivity, ReplicatorHost } from '../../replication/contract.ts';
import type { ReplicationDocumentGuard } from '../../replication/documents/document-guard.ts';
import type { DocumentSecretsOptions } from '../../replication/documents/document-secrets.ts';
import type { PageStore } from '../../storage/page-store.ts';

/** Creates each of the parts, for one core. Creating one loads nothing more, and runs nothing yet. */
export interface DeferredCode {
  /** Runs functions of documents. It needs no database, so writes can be validated while databases are opened and closed. */
  queryServer(options: QueryServerOptions): QueryServer;
  /** View indexes, their queries and their builds in the background. */
  views(options: ViewOptions): ViewService;
  /** Shows, lists, updates and rewrites. */
  design(service: DesignService): DesignPart;
  /** Accounts: who sent a request, sessions, and the documents of users. */
  accounts(options: AccountOptions): AccountsPart;
  /** Selector queries. */
  find(views: ViewIndexes, clock: Clock, config: Config): FindPart;
  /** Replications: those of requests, and those of documents. */
  replicator(options: ReplicatorOptions): OwnedReplicatorPart;
  /** Checks writes to the `_replicator` database. It needs no database, so writes can be checked while databases are closed. */
  replicationDocumentGuard(options: DocumentSecretsOptions): ReplicationDocumentGuard;
  /** What automatic purges do. */
  readonly purges: PurgeCode;
  /** Requests that control the service: configuration and the like. */
  administration(options: AdministrationOptions): AdministrationPart;
}

export interface PurgeCode {
  readonly defaultTtl: typeof defaultTtl;
  readonly purge: typeof purgeOnce;
  readonly plan: typeof planOf;
}

/** What those parts need that check tokens. */
interface TokenOptions {
  /** See `CoreOptions`. */
  readonly tokenIssuers: TokenIssuers | undefined;
}

export interface AdministrationOptions extends TokenOptions {
  readonly clock: Clock;
  readonly config: Config;
  readonly random: RandomBytes;
  readonly logTail: LogTail;
  /** See `CoreOptions`. */
  readonly pages: PageFiles | undefined;
  /** See `CoreOptions`. */
  readonly restart: (() => Promise<void>) | undefined;
}

export interface AccountOptions extends TokenOptions {
  readonly config: ConfigStore;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly log: Log;
  readonly databases: Registry;
  readonly counters: Counters;
  /** See `Access.accountsVersion`. */
  readonly accountsVersion: () => number;
  /** Called when a user has ended a session. */
  readonly onSessionEnd: (name: string) => void;
}

export interface ReplicatorOptions {
  readonly host: ReplicatorHost;
  readonly registry: Pick<Registry, 'use' | 'has' | 'notes' | 'keepNote'>;
  readonly config: Config;
  readonly tasks: ActiveTasks;
  /** The address by which pages know the service, if the host knows it. */
  readonly ownBase: () => string | undefined;
  /** Where peers' responses are counted. */
  readonly bytesInFlight?: ByteBudget | undefined;
}

export interface OwnedReplicatorPart extends ReplicatorPart {
  /** Reads soon the documents that ask for replications, or their changes. */
  followDocuments(): void;
  /** The network is back: retries at once what failed without it. */
  wake(): void;
  /** Continues the requests in `ReplicatorHost.requests` that do not run yet. Fails if that is not possible for all; call it again then. */
  resume(): Promise<void>;
  readonly activity: ReplicationActivity;
  /** Ends all replications, after a last checkpoint if that is possible at once. Call it while requests are still served. */
  close(): Promise<void>;
}

export interface QueryServerOptions {
  readonly clock: Clock;
  readonly config: Config;
  readonly log: Log;
}

export interface QueryServer {
  /** Undefined if the host has none: functions then get a 501. */
  readonly sandbox: Sandbox | undefined;
  readonly programs: Pick<DesignPrograms, 'open'>;
  readonly openValidators: OpenValidators;
  /** Ends the sandbox. Call it when the views and the databases are closed. */
  close(): void;
}

export interface ViewOptions extends QueryServerOptions {
  readonly databases: Databases;
  readonly store: PageStore;
  readonly cache: CacheBudget;
  /** Where builds of indexes are shown. */
  readonly tasks: ActiveTasks;
  readonly sandbox: Sandbox | undefined;
  /** See `CoreOptions`. */
  readonly engine: string | undefined;
  /** Makes the indexes of a service that does not own all databases. By default it does. */
  readonly openIndexes?: ((options: ViewIndexesOptions & FollowedViewIndexesOptions) => ViewIndexes) | undefined;
  /** Whether indexes are built in the background. Default: true. */
  readonly buildsIndexes?: boolean | undefined;
  /** See `BackgroundBuilds`. */
  readonly owns?: ((database: string) => boolean) | undefined;
}

export interface ViewService extends ViewPart {
  /** Builds the indexes of that database in the background, a moment later. */
  buildSoon(database: string): void;
  /** Begins nothing more in the background, and closes the indexes. Call it before the databases are closed. `database`: only the indexes of that one. */
  close(database?: string): Promise<void>;
}

/**
 * Loads the code. Called when a part of it is first needed, and again at the next need after a failure, never concurrently.
 * A host that has the code available returns it at once. An error's message goes to the caller: it says what to do.
 */
export interface LoadDeferredCode {
  (): MaybePromise<DeferredCode>;
  /** Called when functions of documents will soon run, before the code is loaded: slow preparations may start in parallel. Never fails. */
  readonly expectFunctions?: (config: Config) => void;
}
