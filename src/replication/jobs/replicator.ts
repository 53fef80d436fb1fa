/** Carries out `POST /_replicate`: starts replications, attaches to those that run, and cancels them (docs/http/replication.md). */

import { DatabaseError } from '../../base/errors/database-error.ts';
import type { JsonObject } from '../../base/json/objects.ts';
import { runCooperatively } from '../../base/shared/turn.ts';
import type { DatabaseUser } from '../../database/store/contract.ts';
import type { Asker, ReadFilter, Replication, RunResult, Standings, Tokens } from '../contract.ts';
import { RightsEnded } from '../failure.ts';
import type { Reachability } from '../reachability.ts';
import { isAdmin } from '../user-key.ts';
import { isBelow } from './endpoint.ts';
import type { Job, JobListener, JobOrder } from './job.ts';
import { type KeptRequest, KeptRequests } from './kept-requests.ts';
import type { RefusedLedger } from './refused-documents.ts';
import { refusedIds, retryId, retryOf } from './refused-documents.ts';
import { type ReplicationId, replicationId } from './replication-id.ts';
import { type JobsOptions, ReplicationJobs } from './replication-jobs.ts';
import {
  locateReplication,
  parseReplicateRequest,
  type RequestOptions,
  type RequestOrigin,
} from './replication-request.ts';
import { assertMayAsk, assertSelectionFits } from './request-bounds.ts';
import { assertRights, rightsOfRequest } from './rights.ts';
import { RightsWatch } from './rights-watch.ts';

/** Ledgers of replications that are over. */
const MAX_LEDGERS = 100;

export interface ReplicatorOptions extends JobsOptions {
  readonly readFilter: ReadFilter;
  /** The address by which pages know the service, if the host knows it: URLs below it are local. */
  readonly ownBase: () => string | undefined;
}

export type ReplicateOutcome =
  /** It runs until it is cancelled. */
  | { readonly kind: 'started'; readonly id: string }
  /** `result` resolves when it is done. */
  | { readonly kind: 'running'; readonly id: string; readonly result: Promise<RunResult> }
  | { readonly kind: 'cancelled'; readonly id: string }
  /** There is none to cancel. */
  | { readonly kind: 'unknown' };

export class Replicator {
  readonly jobs: ReplicationJobs;
  readonly #options: ReplicatorOptions;
  readonly #ended = new AbortController();
  readonly #kept: KeptRequests;
  readonly #watch: RightsWatch;
  /** For replications that are over, by the ids of their checkpoints, the oldest first. */
  readonly #ledgers = new Map<string, RefusedLedger>();

  constructor(options: ReplicatorOptions) {
    this.#options = options;
    this.#kept = new KeptRequests(options.host.requests);
    this.jobs = new ReplicationJobs(options);
    this.#watch = new RightsWatch(this.jobs, options.host);
  }

  /** Fails with `bad_request`, with `unauthorized` and `forbidden` if the user may not cancel the job, and as reading a filter does. */
  async replicate(body: JsonObject, origin: RequestOrigin): Promise<ReplicateOutcome> {
    const requestOptions = this.requestOptions(origin);
    const request = await runCooperatively(parseReplicateRequest(body, requestOptions));
    if (request.kind === 'cancelById') return this.#cancel(this.jobs.get(request.id), origin.user);
    if (request.kind === 'retryById') return this.#retry(this.jobs.get(request.id), origin.user);
    // Anything that was begun may be ended.
    const refusal = request.kind === 'cancel' ? () => undefined : requestOptions.refusal;
    const replication = await locateReplication(request.replication, { ...requestOptions, refusal });
    const id = await this.idOf(replication);
    if (request.kind === 'cancel') return this.#cancel(this.#findForCancel(id), origin.user);
    const ledger = this.#ledgers.get(id.base);
    const order = { id, replication, owner: origin.user, isKept: replication.continuous, ledger };
    if (request.retryRefused) return this.#running(await this.retryRefused(order));
    const job = this.#attach(order) ?? this.#add(order);
    if (!replication.continuous) return this.#running(job);
    if (job.order.origin === undefined) this.#keep({ body, origin }, job);
    return { kind: 'started', id: job.id };
  }

  /** Continues what was requested before this core existed. Fails with the first failure; the next call retries what failed. */
  async resume(): Promise<void> {
    const outcomes = await Promise.allSettled(this.#kept.load().map((request) => this.#resume(request)));
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  async #resume(request: KeptRequest): Promise<void> {
    try {
      await this.replicate(request.body, request.origin);
    } catch (failure) {
      if (!(failure instanceof RightsEnded)) throw failure;
      this.#options.host.log.info(
        `a continuous replication requested before this service started is not resumed: ${failure.message}`,
      );
      this.#kept.drop(request);
    }
  }

  /** Returns what parsing a request needs. */
  requestOptions(origin: RequestOrigin, asker: Asker = askerOf(origin)): RequestOptions {
    const { user, ownBases, until } = origin;
    const { fetch, fetchThrough, isBrowserFetch, guard, standings, tokenSource, clock } = this.#options.host;
    const { defaults, headerRules } = this.#options.settings();
    const known = this.#options.ownBase();
    // In a browser a page may use the address of a server that the service replaces; the replicator then means the server.
    const asked = isBrowserFetch === true ? [] : ownBases;
    return {
      user,
      whyEnded: rightsOfRequest(origin, standings, () => clock.now()),
      rightsUntil: until,
      asker,
      ownBases: known === undefined ? asked : [known, ...asked],
      isOwn: async (url) => guard !== undefined && (isBelow(url, asked) || (await guard.isOwn(url))),
      refusal: (url) => (asker.isAdmin ? undefined : guard?.refusal(url)),
      headerRules,
      defaults,
      noNetwork: fetch === undefined ? 'this service can reach no other servers.' : undefined,
      canSendSession: isBrowserFetch === true,
      canAskForTokens: tokenSource !== undefined,
      noProxy: fetchThrough === undefined ? noProxy(isBrowserFetch === true) : undefined,
    };
  }

  /** Fails as reading its filter does. */
  async idOf(replication: Replication): Promise<ReplicationId> {
    const { host, readFilter } = this.#options;
    const { selection } = replication;
    await assertRights(replication);
    const isOwn = selection?.kind !== 'filter' || selection.filter.startsWith('_');
    const filter = isOwn ? undefined : await readFilter(replication, selection.filter, host, this.#ended.signal);
    return replicationId(replication, host.serverUuid, filter);
  }

  /** Begins to copy what that order's replication could not copy before, or joins a job that does so already. */
  async retryRefused(order: JobOrder): Promise<Job> {
    const id = retryId(order.id);
    const job = this.jobs.get(order.id.full);
    const ledger = job?.ledger ?? order.ledger ?? this.#ledgers.get(order.id.base);
    const ids = await refusedIds(order.replication, order.id.base, this.#options.host, ledger);
    const running = this.jobs.get(id.full);
    if (running !== undefined) return running;
    const { origin, owner } = order;
    const listener: JobListener = {
      completed: (retry) => {
        if (ledger === undefined) this.#keepLedger(order.id, retry.ledger);
        else ledger.settle(ids, retry.ledger);
        const running = this.jobs.get(order.id.full);
        running?.order.listener?.ledgerChanged?.(running);
      },
    };
    if (origin === undefined) this.#assertMayAsk(order);
    return this.#begin({ id, replication: retryOf(order.replication, ids), origin, owner, listener, isKept: false });
  }

  get standings(): Standings | undefined {
    return this.#options.host.standings;
  }

  get reachability(): Reachability | undefined {
    return this.#options.host.reachability;
  }

  get tokens(): Tokens | undefined {
    return this.#options.host.tokens;
  }

  async close(): Promise<void> {
    this.#ended.abort();
    this.#watch.close();
    await this.jobs.close();
  }

  /**
   * Returns the job that does the same for the same user. A failing one is retried at once: with the request of its document, or else with
   * the new request, whose password may be right now.
   */
  #attach(order: JobOrder): Job | undefined {
    const job = this.jobs.get(order.id.full);
    if (job !== undefined && (job.waits || job.state === 'failed') && job.order.origin === undefined) {
      void this.jobs.remove(job);
      return undefined;
    }
    if (job !== undefined) this.jobs.retry(job);
    return job;
  }

  /** Fails if the user, or all users together, have requested too many. */
  #add(order: JobOrder): Job {
    this.#assertMayAsk(order);
    return this.#begin({ ...order, listener: this.#ledgerKeeper });
  }

  #begin(order: JobOrder): Job {
    const job = this.jobs.add(order);
    this.#watch.expect(order.replication.rightsUntil);
    return job;
  }

  /** Its rights end in the next core as they do here: a request that attached to it does not change that. */
  #keep(request: KeptRequest, job: Job): void {
    const { origin } = request;
    const until = job.order.replication.rightsUntil;
    this.#kept.keep({ ...request, origin: { ...origin, until } }, job.id);
    if (until !== origin.until) this.#kept.drop(request);
  }

  #assertMayAsk({ owner, replication }: JobOrder): void {
    const { address } = replication.asker;
    const jobs = this.jobs.list();
    assertMayAsk({ owner, address }, jobs, this.#options.settings());
    assertSelectionFits(owner, replication.selection, jobs);
  }

  #running(job: Job): ReplicateOutcome {
    return { kind: 'running', id: job.id, result: job.result() };
  }

  #findForCancel(id: ReplicationId): Job | undefined {
    return this.jobs.get(id.full) ?? this.jobs.list().find(({ order }) => order.id.anyUser === id.anyUser);
  }

  async #retry(job: Job | undefined, user: DatabaseUser): Promise<ReplicateOutcome> {
    if (job === undefined) return { kind: 'unknown' };
    if (isOwner(job, user)) return this.#running(await this.retryRefused(job.order));
    throw new DatabaseError('unauthorized', "Can't use a replication triggered by another user");
  }

  async #cancel(job: Job | undefined, user: DatabaseUser): Promise<ReplicateOutcome> {
    if (job === undefined) return { kind: 'unknown' };
    if (!isOwner(job, user)) {
      throw new DatabaseError('unauthorized', "Can't cancel a replication triggered by another user");
    }
    const { origin } = job.order;
    if (origin !== undefined) {
      const reason = `The document ${origin.docId} of ${origin.database} requests this replication. Delete the document to end it.`;
      throw new DatabaseError('forbidden', reason);
    }
    this.#kept.forget(job.id);
    await this.jobs.remove(job);
    return { kind: 'cancelled', id: job.id };
  }

  readonly #ledgerKeeper = {
    completed: ({ order, ledger }: Job) => this.#keepLedger(order.id, ledger),
    failed: ({ id, order, ledger }: Job, failure: unknown) => {
      if (failure instanceof RightsEnded) this.#kept.forget(id);
      this.#keepLedger(order.id, ledger);
    },
  };

  #keepLedger({ base }: ReplicationId, ledger: RefusedLedger): void {
    this.#ledgers.delete(base);
    if (ledger.count > 0) this.#ledgers.set(base, ledger);
    for (const oldest of this.#ledgers.keys()) {
      if (this.#ledgers.size <= MAX_LEDGERS) break;
      this.#ledgers.delete(oldest);
    }
  }
}

function askerOf({ user, address, trace }: RequestOrigin): Asker {
  return { isAdmin: isAdmin(user), address, trace };
}

function isOwner({ order }: Job, { name, roles }: DatabaseUser): boolean {
  return isAdmin({ roles }) || name === order.owner.name;
}

function noProxy(isBrowser: boolean): string {
  return isBrowser
    ? "a browser chooses its proxy itself, and a page can't change that. Remove the member."
    : 'this service does not support proxies.';
}
