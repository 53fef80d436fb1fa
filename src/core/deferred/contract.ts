/**
 * What is loaded on first use, as the core sees it. Browsers have its code in a file of its own, since work on documents alone needs
 * none of it, and many apps never load it; other hosts have it at hand.
 *
 * To add a part: a row in `DeferredCode`, what makes it in `deferred-code.ts`, a `Deferred` for it in `core.ts`, and rows in
 * `http/routing/routes.ts` for the requests that it answers.
 */

import type { ByteBudget } from '../../base/shared/byte-budget.ts';
import type { CacheBudget } from '../../base/shared/cache-budget.ts';
import type { Clock, RandomBytes } from '../../base/shared/clock.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { ActiveTasks } from '../../base/system/active-tasks.ts';
import type { Config, ConfigStore, Log } from '../../base/system/contract.ts';
import type { Counters } from '../../base/system/counters.ts';
import type { LogTail } from '../../base/system/log-buffer.ts';
import type { Registry } from '../../database/registry/contract.ts';
import type { DesignPart } from '../../http/queries/design/design-handlers.ts';
import type { DesignService } from '../../http/queries/design/design-service.ts';
import type { FindPart } from '../../http/queries/find/find-handlers.ts';
import type { ViewPart } from '../../http/queries/views/view-handlers.ts';
import type { ReplicatorPart } from '../../http/replication/replicator-handlers.ts';
import type { AccountsPart } from '../../http/server/accounts/accounts-part.ts';
import type { AdministrationPart } from '../../http/server/administration/administration-handlers.ts';
import type { DesignPrograms } from '../../queries/design/design-programs.ts';
import type { OpenValidators } from '../../queries/design/write-validation.ts';
import type { Sandbox } from '../../queries/sandbox/contract.ts';
import type { Databases } from '../../queries/views/background-builds.ts';
import type { ViewIndexes } from '../../queries/views/contract.ts';
import type { ReplicationActivity, ReplicatorHost } from '../../replication/contract.ts';
import type { ReplicationDocumentGuard } from '../../replication/documents/document-guard.ts';
import type { PageStore } from '../../storage/page-store.ts';

/** Makes each of the parts, for one core. Making one loads nothing more, and runs nothing yet. */
export interface DeferredCode {
  /** Runs functions of documents. It needs no database, so that writes can be validated while databases are opened and closed. */
  queryServer(needs: QueryServerNeeds): QueryServer;
  /** View indexes, their queries and their builds in the background. */
  views(needs: ViewNeeds): ViewService;
  /** Shows, lists, updates and rewrites. */
  design(service: DesignService): DesignPart;
  /** Accounts: who sent a request, sessions, and the documents of users. */
  accounts(needs: AccountNeeds): AccountsPart;
  /** Selector queries. */
  find(views: ViewIndexes, clock: Clock, config: Config): FindPart;
  /** Replications: those that are asked for by requests, and those of documents. */
  replicator(needs: ReplicatorNeeds): OwnedReplicatorPart;
  /** Judges what is written into the database of such documents. It needs no database, so that writes can be judged while databases are closed. */
  readonly replicationDocumentGuard: ReplicationDocumentGuard;
  /** Requests that steer the service: configuration and the like. */
  administration(needs: AdministrationNeeds): AdministrationPart;
}

export interface AdministrationNeeds {
  readonly clock: Clock;
  readonly config: Config;
  readonly random: RandomBytes;
  readonly logTail: LogTail;
  /** See `CoreOptions`. */
  readonly restart: (() => Promise<void>) | undefined;
}

export interface AccountNeeds {
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

export interface ReplicatorNeeds {
  readonly host: ReplicatorHost;
  readonly registry: Pick<Registry, 'use' | 'has'>;
  readonly config: Config;
  readonly tasks: ActiveTasks;
  /** The address by which pages know the service, where the host knows it. */
  readonly ownBase: () => string | undefined;
  /** Where what peers answer is counted. */
  readonly bytesInFlight?: ByteBudget | undefined;
}

export interface OwnedReplicatorPart extends ReplicatorPart {
  /** Reads the documents that ask for replications, or what has changed of them, soon. */
  followDocuments(): void;
  /** The network is back: what failed for the lack of it is tried at once. */
  wake(): void;
  /** Goes on with what `ReplicatorHost.requests` has and is not there yet. Fails where that can't be done for all; ask again then. */
  resume(): Promise<void>;
  readonly activity: ReplicationActivity;
  /** Ends all replications, after a last checkpoint where that is possible at once. Call it while requests are still answered. */
  close(): Promise<void>;
}

export interface QueryServerNeeds {
  readonly clock: Clock;
  readonly config: Config;
  readonly log: Log;
}

export interface QueryServer {
  /** Undefined where the host has none: functions are answered with 501 then. */
  readonly sandbox: Sandbox | undefined;
  readonly programs: Pick<DesignPrograms, 'open'>;
  readonly openValidators: OpenValidators;
  /** Ends the sandbox. Call it when the views and the databases are closed. */
  close(): void;
}

export interface ViewNeeds extends QueryServerNeeds {
  readonly databases: Databases;
  readonly store: PageStore;
  readonly cache: CacheBudget;
  /** Where builds of indexes are shown. */
  readonly tasks: ActiveTasks;
  readonly sandbox: Sandbox | undefined;
  /** See `CoreOptions`. */
  readonly engine: string | undefined;
}

export interface ViewService extends ViewPart {
  /** Builds the indexes of that database in the background, a moment later. */
  buildSoon(database: string): void;
  /** Begins nothing more in the background, and closes the indexes. Call it before the databases are closed. */
  close(): Promise<void>;
}

/**
 * Gets hold of the code. Called when a part of it is first needed, and again at the next need after it failed, never twice at a time.
 * A host that has the code at hand gives it at once. An error's message goes to whoever asked: it says what to do.
 */
export interface LoadDeferredCode {
  (): MaybePromise<DeferredCode>;
  /** Told when functions of documents will soon be called, before the code is asked for: what takes long may begin beside. Never fails. */
  readonly expectFunctions?: (config: Config) => void;
}
