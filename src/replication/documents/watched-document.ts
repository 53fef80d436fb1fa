/**
 * One document of `_replicator` that asks for a replication, from when it is found until it is completed, changed or deleted. It writes the
 * replication's state into the document (docs/http/replication.md#states-of-replication-documents).
 */
import { isDatabaseError } from '../../base/errors/database-error.ts';
import { type JsonObject, ownMember } from '../../base/json/objects.ts';
import { type Clock, startBackgroundTimer } from '../../base/shared/clock.ts';
import { runCooperatively } from '../../base/shared/turn.ts';
import { type Log, REPLICATOR_DATABASE } from '../../base/system/contract.ts';
import type { DocId, RevId } from '../../database/documents/contract.ts';
import type { DatabaseUser } from '../../database/store/contract.ts';
import type { Replication } from '../contract.ts';
import { backOffMs, failureText, type PauseState, pauseOf, RightsEnded } from '../failure.ts';
import type { Job, JobListener, JobOrder } from '../jobs/job.ts';
import { documentStats } from '../jobs/job-listing.ts';
import { timestamp } from '../jobs/job-trouble.ts';
import { PauseEnd } from '../jobs/pause-end.ts';
import { RefusedLedger } from '../jobs/refused-documents.ts';
import type { ReplicationId } from '../jobs/replication-id.ts';
import { locateReplication, parseReplication, parseUser } from '../jobs/replication-request.ts';
import type { Replicator } from '../jobs/replicator.ts';
import type { ReplicatorSettings } from '../jobs/replicator-settings.ts';
import { assertSelectionFits } from '../jobs/request-bounds.ts';
import { booleanMember } from '../jobs/request-members.ts';
import { rightsOfDocument } from '../jobs/rights.ts';
import { continuedCheckpoint, type FormerReplication, isSameReplication } from './credential-change.ts';
import { askerOf, ownerOf } from './document-owner.ts';
import type { DocumentSecrets } from './document-secrets.ts';
import { asksForTheSame } from './secret-members.ts';
import { type DocumentState, refusedIn, type StateMembers, stateOf } from './state-members.ts';
import { StateWriter } from './state-writer.ts';
import type { FoundDocument } from './stored-documents.ts';

/** The delay until the document names refused documents while its replication runs. */
const LEDGER_MS = 2_000;
/** Retries of a request for what the document names, before its replication begins. */
const RETRIES_TO_BEGIN = 3;

export type DocumentStatus =
  /** The document's request is being read. */
  | 'initializing'
  /** Reading the request failed, and is retried after a while. */
  | 'error'
  /** Reading the request needs a host that can't be reached, or credentials that are awaited. */
  | PauseState
  /** The request is impossible, or was tried often enough. */
  | 'failed'
  /** Another document asks for the same replication. */
  | 'duplicate'
  /** Its writer has the maximum number of replications under way. */
  | 'waiting'
  /** Its job has the state. */
  | 'started'
  | 'completed';

export interface WatchOptions {
  readonly replicator: Replicator;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: () => ReplicatorSettings;
  readonly secrets: DocumentSecrets;
  /** Whether a user of that name is a server admin. */
  readonly isAdmin: (name: string) => boolean;
  /** See `writeState`. */
  readonly write: (id: DocId, rev: RevId, state: StateMembers) => Promise<RevId | undefined>;
  /** Returns the document that has the replication: this one, if no other had it before. */
  readonly claim: (id: ReplicationId, document: WatchedDocument) => WatchedDocument;
  /** Resolves when a former run of that replication has ended. */
  readonly ended: (id: ReplicationId) => Promise<void>;
  /** Makes the document wait until it is begun again, and returns the reason, if its writer has too many under way. See `DocumentSemaphore`. */
  readonly acquirePermit: (document: WatchedDocument, writer: DatabaseUser) => string | undefined;
  /** Nothing is under way for the document any more. */
  readonly releasePermit: (document: WatchedDocument) => void;
  /** Ends what is under way for the document and starts it again: see `PermitHolder`. */
  readonly giveWay: (document: WatchedDocument) => void;
  /** The document is marked as completed: there is nothing more to watch. */
  readonly completed: (document: WatchedDocument) => void;
}

export class WatchedDocument {
  readonly id: DocId;
  readonly addedAt: number;
  updatedAt: number;
  status: DocumentStatus = 'initializing';
  replication: Replication | undefined;
  replicationId: ReplicationId | undefined;
  job: Job | undefined;
  /** Failed attempts to begin that count. */
  failures = 0;
  /** Consecutive attempts that ended for a reason that doesn't count. */
  #pauses = 0;
  readonly #pauseEnd = new PauseEnd();
  reason: string | undefined;
  /** Milliseconds since the epoch: the first of those failures, and when the next attempt is made. */
  failingSince: number | undefined;
  nextAttempt: number | undefined;
  readonly #options: WatchOptions;
  #document: JsonObject;
  readonly #predecessor: FormerReplication | undefined;
  readonly #former: StateMembers;
  readonly #writer: StateWriter;
  #isStopped = false;
  #stopTimer: (() => void) | undefined;
  #stopLedgerTimer: (() => void) | undefined;
  #noteAgain: (() => void) | undefined;

  /** `predecessor`: the same document at an earlier revision. */
  constructor({ id, rev }: FoundDocument, document: JsonObject, options: WatchOptions, predecessor?: WatchedDocument) {
    this.id = id;
    this.#predecessor = predecessor?.formerOf(document);
    this.#document = document;
    this.#options = options;
    this.#former = stateOf(document);
    this.addedAt = options.clock.now();
    this.updatedAt = this.addedAt;
    this.#writer = new StateWriter(rev, this.#former, {
      write: (at, state) => options.write(id, at, state),
      written: () => {
        if (this.status === 'completed') options.completed(this);
      },
      log: options.log,
    });
  }

  /** The revision in the database, as far as known: the one that was found, or the last one written here. */
  get rev(): RevId {
    return this.#writer.rev;
  }

  /** Resolves when no write is in progress. */
  settled(): Promise<void> {
    return this.#writer.settled();
  }

  /** Writes at once what the document would name soon. Resolves when no write is in progress. */
  flush(): Promise<void> {
    if (this.#stopLedgerTimer !== undefined) this.#noteLedger();
    return this.settled();
  }

  /** Reads what the document asks for, and runs it. Called again after a failure, or when no other document asks for the same any more. */
  begin(): void {
    this.#stopTimer?.();
    this.#setStatus('initializing');
    void this.#begin().catch((failure: unknown) => {
      if (!this.#isStopped) this.#fail(failure);
    });
  }

  /**
   * Continues with a revision that differs only in its credentials: the replication goes on from its checkpoint. Returns false, and changes
   * nothing, if the revision asks for something else, or nothing is under way.
   */
  async adopt({ rev, document }: FoundDocument): Promise<boolean> {
    const { job, status } = this;
    const isOwn = job?.order.origin?.docId === this.id && job.order.isKept;
    // A job that has ended does not continue: the document starts another one.
    if (!isOwn || job.isOver || status !== 'started') return false;
    if (document === undefined || !asksForTheSame(this.#document, document)) return false;
    try {
      const replication = await this.#read(document);
      const isSame = await isSameReplication(replication, job.order.replication);
      if (!isSame || this.#isStopped || this.status !== 'started') return false;
      this.#document = document;
      this.replication = replication;
      this.#writer.moveTo(rev, stateOf(document));
      this.#options.replicator.jobs.renewCredentials(job, replication);
      return true;
    } catch {
      // The document is then started as a new one, which reports the error.
      return false;
    }
  }

  /** Undefined if this asks for something else than a document, or for nothing yet. */
  formerOf(document: JsonObject): FormerReplication | undefined {
    const { replication, replicationId } = this;
    if (replication === undefined || replicationId === undefined) return undefined;
    return asksForTheSame(this.#document, document) ? { replication, checkpointId: replicationId.base } : undefined;
  }

  giveWay(): void {
    this.#options.giveWay(this);
  }

  /** The network is back. */
  wake(): void {
    const isRetried = this.status === 'error' || this.status === 'paused' || this.status === 'unauthorized';
    if (!isRetried && !(this.status === 'failed' && this.failures > 0)) return;
    this.failures = 0;
    this.begin();
  }

  /** Ends the replication, and writes nothing any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#writer.stop();
    this.#stopTimer?.();
    this.#stopLedgerTimer?.();
    const { jobs } = this.#options.replicator;
    if (this.job?.order.origin?.docId === this.id) await jobs.remove(this.job);
  }

  async #begin(): Promise<void> {
    const why = this.#options.acquirePermit(this, this.#owner);
    if (why !== undefined) {
      this.#setStatus('waiting');
      this.reason = why;
      this.#want({ _replication_state_reason: why });
      return;
    }
    this.reason = undefined;
    const read = await this.#understood(() => this.#read(this.#document));
    if (read === undefined || this.#isStopped) return;
    const replication = { ...read, formerCheckpoint: continuedCheckpoint(this.#predecessor, read) };
    this.replication = replication;
    // The whole attempt is repeated, so that its document soon says what it waits for.
    const retriesPerRequest = Math.min(RETRIES_TO_BEGIN, replication.retriesPerRequest);
    const id = await this.#options.replicator.idOf({ ...replication, retriesPerRequest });
    if (this.#isStopped) return;
    this.replicationId = id;
    this.#pauses = 0;
    this.#pauseEnd.reset();
    if (booleanMember(this.#document, 'retry_refused') === true)
      return this.#retryRefused(this.#orderOf(id, replication));
    const holder = this.#options.claim(id, this);
    if (holder === this) return this.#start(this.#orderOf(id, replication));
    this.#setStatus('duplicate');
    this.#options.releasePermit(this);
    this.reason = `The document \`${holder.id}' requests the same replication, which runs only once.`;
    this.#want({ _replication_state_reason: this.reason });
  }

  /** Fails with `bad_request` if the document is not valid, or asks for what its writer may not have. */
  async #read(document: JsonObject): Promise<Replication> {
    const context = parseUser(ownMember(document, 'user_ctx'));
    const owner = this.#owner.name;
    booleanMember(document, 'retry_refused');
    const user = context ?? { name: owner, roles: ['_admin'] };
    const { replicator, secrets } = this.#options;
    const whyEnded = rightsOfDocument(owner, context, replicator.standings);
    const options = { ...replicator.requestOptions({ user, ownBases: [] }, askerOf(this.#owner)), whyEnded };
    const readable = await secrets.open(this.id, document);
    const parsed = parseReplication(readable, { ...options, takesAnyParameters: true });
    return locateReplication(await runCooperatively(parsed), options);
  }

  /** Undefined if the document can't be carried out as it is; the document then says so. */
  async #understood(read: () => Promise<Replication>): Promise<Replication | undefined> {
    try {
      return await read();
    } catch (failure) {
      if (this.#isStopped) return undefined;
      if (!isDatabaseError(failure, 'bad_request')) throw failure;
      this.#setStatus('failed');
      this.#options.releasePermit(this);
      this.reason = failure.reason;
      this.#note('error', failure.reason);
      return undefined;
    }
  }

  /** The user who may cancel it. */
  get #owner(): DatabaseUser {
    return ownerOf(this.#document, this.#options.isAdmin);
  }

  #orderOf(id: ReplicationId, replication: Replication): JobOrder {
    const former = this.#former._replication_id === id.full ? refusedIn(this.#former) : undefined;
    const isSame = this.job?.order.id.full === id.full;
    const ledger = isSame ? this.job?.ledger : new RefusedLedger(this.#options.settings().maxRefused, former);
    const origin = { database: REPLICATOR_DATABASE, docId: this.id };
    return { id, replication, origin, owner: this.#owner, isKept: true, ledger, listener: this.#listener };
  }

  /** A job of the same replication that a request started gives way; if it ends by itself, this waits for it. */
  async #start(order: JobOrder): Promise<void> {
    const { jobs } = this.#options.replicator;
    await this.#options.ended(order.id);
    if (this.#isStopped) return;
    for (let other = jobs.get(order.id.full); other !== undefined; other = jobs.get(order.id.full)) {
      if (order.replication.continuous) await jobs.remove(other);
      else await other.result().catch(() => undefined);
      if (this.#isStopped) return;
    }
    assertSelectionFits(order.owner, order.replication.selection, jobs.list());
    this.#setStatus('started');
    this.job = jobs.add(order);
  }

  async #retryRefused(order: JobOrder): Promise<void> {
    this.job = await this.#options.replicator.retryRefused(order);
    const { job } = this;
    if (this.#isStopped) return this.stop();
    this.#setStatus('started');
    this.#note('triggered');
    await job.result();
    if (!this.#isStopped) this.#complete(job);
  }

  readonly #listener: JobListener = {
    healthy: () => this.#note('triggered'),
    failed: ({ state, lastFailure }, _failure, retryMs) => {
      if (state === 'paused' || state === 'unauthorized') this.#notePause(lastFailure);
      else this.#note('error', lastFailure);
      if (retryMs === undefined) this.#options.releasePermit(this);
    },
    completed: (job) => this.#complete(job),
    ledgerChanged: () => {
      if (this.#isStopped) return;
      this.#stopLedgerTimer ??= startBackgroundTimer(LEDGER_MS, () => this.#noteLedger());
    },
    keepLedger: () => this.flush(),
  };

  #noteLedger(): void {
    this.#stopLedgerTimer?.();
    this.#stopLedgerTimer = undefined;
    this.#noteAgain?.();
  }

  #complete(job: Job): void {
    this.#stopLedgerTimer?.();
    this.job = job;
    this.#setStatus('completed');
    this.#note('completed');
  }

  #fail(failure: unknown): void {
    const { settings, log } = this.#options;
    this.reason = failureText(failure);
    const pause = pauseOf(failure);
    if (pause !== undefined) {
      this.#pause(pause, failure);
      return;
    }
    this.#pauses = 0;
    this.failures++;
    if (!isDatabaseError(failure)) log.error(`unexpected failure of the replication document ${this.id}`, failure);
    const isLasting = failure instanceof RightsEnded || this.failures > settings().maxRetries;
    const retryMs = !isLasting ? backOffMs(this.failures, failure) : undefined;
    this.#setStatus(retryMs === undefined ? 'failed' : 'error');
    if (retryMs === undefined) this.#options.releasePermit(this);
    this.failingSince ??= this.updatedAt;
    this.nextAttempt = retryMs === undefined ? undefined : this.updatedAt + retryMs;
    if (retryMs !== undefined) this.#stopTimer = startBackgroundTimer(retryMs, () => this.begin());
    this.#note('error', this.reason);
  }

  /** This is no failure: it does not count, and ends as soon as the host responds to another replication, or credentials may be there. */
  #pause(status: PauseState, failure: unknown): void {
    const retryMs = backOffMs(++this.#pauses, failure);
    this.#setStatus(status);
    this.failingSince ??= this.updatedAt;
    this.nextAttempt = this.updatedAt + retryMs;
    const stopTimer = startBackgroundTimer(retryMs, () => this.begin());
    const stopListening = this.#pauseEnd.expect(failure, this.#options.replicator, () => this.begin());
    this.#stopTimer = () => {
      stopTimer();
      stopListening?.();
    };
    this.#notePause(this.reason);
  }

  #setStatus(status: DocumentStatus): void {
    this.status = status;
    this.updatedAt = this.#options.clock.now();
  }

  /** Without a state, as other documents that wait: servers of the family know no state for this. */
  #notePause(reason: string | undefined): void {
    this.#noteAgain = () => this.#notePause(reason);
    this.#want({ _replication_state_reason: reason });
  }

  #note(state: DocumentState, reason?: string): void {
    this.#noteAgain = () => this.#note(state, reason);
    this.#want({
      _replication_state: state,
      _replication_state_time: timestamp(this.#options.clock.now()),
      _replication_state_reason: reason,
    });
  }

  /** In every state the document names what was refused: its checkpoint has passed that, and a core that begins with it knows it from here alone. */
  #want(state: Omit<StateMembers, '_replication_id' | '_replication_stats'>): void {
    const { job, replicationId } = this;
    const isFormer = replicationId === undefined || replicationId.full === this.#former._replication_id;
    const former = isFormer && refusedIn(this.#former).count > 0 ? this.#former : {};
    const isTold = job !== undefined && (state._replication_state === 'completed' || job.ledger.count > 0);
    this.#writer.want({
      ...state,
      _replication_id: replicationId?.full ?? former._replication_id,
      _replication_stats: isTold ? documentStats(job) : job === undefined ? former._replication_stats : undefined,
    });
  }
}
