/** Loads the replicator: on first use, and if the service has documents that ask for replications. */
import { isDatabaseError } from '../../base/errors/database-error.ts';
import type { ByteBudget } from '../../base/shared/byte-budget.ts';
import { type Clock, type RandomBytes, startBackgroundTimer } from '../../base/shared/clock.ts';
import { type MaybePromise, orElse } from '../../base/shared/maybe-promise.ts';
import type { Handle } from '../../base/shared/message.ts';
import type { ActiveTasks } from '../../base/system/active-tasks.ts';
import { type Config, type Log, REPLICATOR_DATABASE } from '../../base/system/contract.ts';
import type { Registry } from '../../database/registry/contract.ts';
import type { ReplicationActivity, ReplicatorHost, RequestStore, Standings } from '../../replication/contract.ts';
import type { DeferredCode, OwnedReplicatorPart } from './contract.ts';
import { Deferred } from './deferred.ts';

/** How long replications may take to end: their peers may not respond any more. */
const MAX_END_MS = 5_000;
/** The wait before requested replications that could not begin are retried. */
const RESUME_AGAIN_MS = 10_000;

type NetworkMember =
  | 'fetch'
  | 'fetchThrough'
  | 'guard'
  | 'isBrowserFetch'
  | 'isOnline'
  | 'mostConnections'
  | 'tokenSource';

export interface ReplicationsOptions {
  readonly registry: Registry;
  readonly config: Config;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly tasks: ActiveTasks;
  readonly basePath: string;
  readonly network?: Pick<ReplicatorHost, NetworkMember> | undefined;
  readonly ownBase?: (() => string | undefined) | undefined;
  readonly bytesInFlight?: ByteBudget | undefined;
  readonly standings: Standings;
  readonly requests?: RequestStore | undefined;
  readonly onActivity?: ((activity: ReplicationActivity) => void) | undefined;
}

export class Replications {
  readonly #part: Deferred<OwnedReplicatorPart>;
  readonly #options: ReplicationsOptions;
  #made: OwnedReplicatorPart | undefined;
  readonly #registry: Registry;
  readonly #log: Log;
  #stopListening: (() => void) | undefined;
  #closing: Promise<void> | undefined;
  #stopResuming: (() => void) | undefined;

  /** `handle`: the service's request handler, used only by the replicator. */
  constructor(code: Deferred<DeferredCode>, handle: Handle, options: ReplicationsOptions) {
    this.#options = options;
    const { registry, clock, random, log, basePath, network, config, tasks, ownBase = () => undefined } = options;
    const { bytesInFlight, requests, standings, onActivity } = options;
    const host = {
      clock,
      random,
      log,
      basePath,
      handle,
      fetch: undefined,
      ...network,
      serverUuid: registry.serverUuid,
      standings,
      requests,
      onActivity,
    };
    this.#part = new Deferred(
      () =>
        code.use((loaded) => {
          this.#made = loaded.replicator({ host, registry, config, tasks, ownBase, bytesInFlight });
          return this.#made;
        }),
      (part) => part.close(),
    );
    this.#registry = registry;
    this.#log = log;
  }

  /**
   * Runs what the documents of `_replicator` ask for, from now on, and the requests that the host keeps. If there is no such database, and nothing
   * is kept, nothing is loaded, until there is.
   */
  begin(): void {
    this.#stopListening = this.#registry.onEvent(({ name, type }) => {
      if (name === REPLICATOR_DATABASE && (type !== 'deleted' || this.#made !== undefined)) this.#followDocuments();
    });
    this.#followDocuments();
    this.resume();
  }

  #followDocuments(): void {
    if (this.#made === undefined && !this.#registry.has(REPLICATOR_DATABASE)) return;
    const begun = orElse(
      () => this.#part.use((part) => part.followDocuments()),
      (error) => {
        if (!isDatabaseError(error, 'shutting_down'))
          this.#log.info(
            `the replicator could not be loaded; the next change of _replicator tries again: ${String(error)}`,
          );
      },
    );
    // Both results are handled: this never rejects.
    void begun;
  }

  readonly get = (): MaybePromise<OwnedReplicatorPart> => this.#part.get();

  /** Begins the requests that the host keeps and that do not run yet; call it again if there may be more. */
  resume(): void {
    const { requests, log } = this.#options;
    if (this.#closing !== undefined || requests === undefined || requests.text === '' || requests.text === '[]') return;
    this.#stopResuming?.();
    const resumed = orElse(
      () => this.#part.use((part) => part.resume()),
      (failure) => {
        if (this.#closing !== undefined) return;
        log.info(
          `a replication that was requested earlier could not begin; it is tried again in ${RESUME_AGAIN_MS / 1000} seconds: ${String(failure)}`,
        );
        this.#stopResuming = startBackgroundTimer(RESUME_AGAIN_MS, () => this.resume());
      },
    );
    // Both results are handled: this never rejects.
    void resumed;
  }

  get activity(): ReplicationActivity {
    return this.#made?.activity ?? 'resting';
  }

  /** The network is back. */
  wake(): void {
    if (this.#made === undefined) this.#followDocuments();
    else this.#made.wake();
    this.resume();
  }

  /** Resolves when all replications have ended, or after some seconds. May be called more than once. */
  close(): Promise<void> {
    this.#stopResuming?.();
    this.#stopListening?.();
    this.#closing ??= within(MAX_END_MS, this.#part.close());
    return this.#closing;
  }
}

function within(ms: number, work: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = startBackgroundTimer(ms, resolve);
    work.finally(stop).then(resolve, reject);
  });
}
