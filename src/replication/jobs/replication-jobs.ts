/**
 * Runs replications: a limited number at a time, each again after a failure, with waits that double. If more are waiting than may run, users
 * share the slots: a user with more than a share gives way at once. Continuous replications give way to the others after a while, idle ones
 * first.
 */
import { DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import { startBackgroundTimer } from '../../base/shared/clock.ts';
import { whenReady } from '../../base/shared/maybe-promise.ts';
import { type CooperativeTask, nextTurn, runCooperatively, TimeSlice } from '../../base/shared/turn.ts';
import type { ReplicationIdentity, ReplicationTask } from '../../base/system/active-tasks.ts';
import type { Log } from '../../base/system/contract.ts';
import { logOfClients } from '../../base/system/log.ts';
import type { Replication, ReplicationActivity, ReplicatorHost, RunReplication, RunResult } from '../contract.ts';
import { backOffMs, failureText, pauseOf, RightsEnded } from '../failure.ts';
import { isAdmin } from '../user-key.ts';
import { Job, type JobOrder } from './job.ts';
import { describeJob, jobIdentity, usesNetwork } from './job-listing.ts';
import { JobObserver } from './job-observer.ts';
import { shownState, taskTrouble } from './job-trouble.ts';
import { RefusedLedger } from './refused-documents.ts';
import type { ReplicatorSettings } from './replicator-settings.ts';
import { assertRights } from './rights.ts';
import { hadTheirTurn, type JobSlots, JobsByUser, nextJob, toGiveWay } from './waiting-jobs.ts';

export interface JobsOptions {
  readonly run: RunReplication;
  readonly host: ReplicatorHost;
  /** Called at each decision. */
  readonly settings: () => ReplicatorSettings;
  readonly tasks: ReplicationTasks;
}

/** Where running replications are shown. */
export interface ReplicationTasks {
  startReplication(what: ReplicationIdentity): ReplicationTask;
}

export class ReplicationJobs {
  readonly #options: JobsOptions;
  /** All jobs that are not completed, by id, in the order of arrival. */
  readonly #jobs = new Map<string, Job>();
  /** Jobs whose attempt has not ended yet, even if it was aborted. */
  readonly #running = new JobsByUser();
  readonly #waiting = new JobsByUser();
  /** Slots are being given to waiting jobs, or will be in a later turn. */
  #isStarting = false;
  #isGivingWay = false;
  #isNoting = false;
  #stopRotation: (() => void) | undefined;
  #lastNumber = 0;
  #isClosed = false;
  #lastActivity: ReplicationActivity = 'resting';

  constructor(options: JobsOptions) {
    this.#options = options;
  }

  get(id: string): Job | undefined {
    return this.#jobs.get(id);
  }

  /** In the order of arrival. */
  list(): readonly Job[] {
    return [...this.#jobs.values()];
  }

  /** Runs it as soon as it has a turn. There must be no job with its id. */
  add(order: JobOrder): Job {
    if (this.#isClosed) throw closing();
    const { maxHistory, maxRefused } = this.#options.settings();
    const ledger = order.ledger ?? new RefusedLedger(maxRefused);
    const job = new Job(order, ledger, ++this.#lastNumber, this.#now(), maxHistory);
    this.#jobs.set(job.id, job);
    this.#waiting.add(job);
    this.#startWaiting();
    this.#noteActivity();
    return job;
  }

  /** Ends it, and forgets it. Resolves when its attempt has ended. */
  async remove(job: Job, why = new DatabaseError('cancelled', 'The replication was cancelled.')): Promise<void> {
    if (this.#jobs.get(job.id) === job) this.#jobs.delete(job.id);
    this.#waiting.delete(job);
    job.abort?.();
    job.task?.end();
    job.reject(why, true);
    this.#noteActivity();
    await job.attempt;
  }

  /**
   * Retries at once what waits after a failure, or has given up: the cause may have passed, since the network is back. What runs over the
   * network begins again from its checkpoint: its connections may be dead without any sign.
   */
  wake(): void {
    const now = this.#now();
    for (const job of this.#jobs.values()) {
      if (job.state === 'running' && usesNetwork(job)) this.#interrupt(job, now);
      else this.retry(job);
    }
  }

  get activity(): ReplicationActivity {
    const jobs = [...this.#jobs.values()];
    if (jobs.some(({ state, isIdle }) => state === 'pending' || (state === 'running' && !isIdle))) return 'busy';
    // Nothing that this process does helps a job that waits for credentials.
    return jobs.some((job) => isRetried(job) && job.state !== 'unauthorized') ? 'failing' : 'resting';
  }

  /** As `wake`, for one that is requested. Does nothing with a job that gets on, or waits for its turn. */
  retry(job: Job): void {
    if (shownState(job) === 'paused' && job.state === 'running') this.#interrupt(job, this.#now());
    if (!isRetried(job)) return;
    job.abort?.();
    job.failures = 0;
    job.pauseEnd.reset();
    this.#queue(job);
  }

  /** Ends the attempt that runs, or the wait for the next one, and makes another attempt in its turn. */
  beginAgain(job: Job): void {
    if (job.state === 'running') this.#interrupt(job, this.#now());
    else if (job.waits) this.retry(job);
  }

  /** Continues from its checkpoint with the credentials of that replication, which is otherwise the same. */
  renewCredentials(job: Job, replication: Replication): void {
    job.order = { ...job.order, replication };
    if (job.state === 'running') this.#interrupt(job, this.#now());
    else this.retry(job);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopRotation?.();
    await Promise.all([...this.#jobs.values()].map((job) => this.remove(job, closing())));
    // Jobs that were removed before and have not ended yet.
    await Promise.all([...this.#running].map((job) => job.attempt));
  }

  #now(): number {
    return this.#options.host.clock.now();
  }

  #queue(job: Job): void {
    job.state = 'pending';
    job.updatedAt = this.#now();
    job.nextAttempt = undefined;
    this.#waiting.add(job);
    this.#startWaiting();
  }

  get #slots(): JobSlots {
    return { running: this.#running, waiting: this.#waiting, most: this.#options.settings().maxJobs };
  }

  /** Begins those that have a slot: at once, and hundreds of them in as many turns as they need. */
  #startWaiting(): void {
    if (this.#isStarting) return;
    this.#isStarting = true;
    void whenReady(runCooperatively(this.#startNext()), () => {
      this.#isStarting = false;
      if (this.#waiting.size === 0 || this.#isClosed) return;
      this.#giveWaySoon();
      this.#rotateLater();
    });
  }

  *#startNext(): CooperativeTask<void> {
    for (;;) {
      const job = this.#running.size < this.#slots.most ? nextJob(this.#slots) : undefined;
      if (job === undefined) return;
      this.#waiting.delete(job);
      this.#start(job);
      yield;
    }
  }

  /** In a later turn: once for all that are added in this one. */
  #giveWaySoon(): void {
    if (this.#isGivingWay) return;
    this.#isGivingWay = true;
    void new TimeSlice().endTurn().then(async () => {
      const now = this.#now();
      await runCooperatively(this.#interruptEach(toGiveWay(this.#slots), now));
      this.#isGivingWay = false;
    });
  }

  *#interruptEach(jobs: readonly Job[], now: number): CooperativeTask<void> {
    for (const job of jobs) {
      if (job.state === 'running') this.#interrupt(job, now);
      yield;
    }
  }

  /** Continues only as long as a job waits. */
  #rotateLater(): void {
    if (this.#stopRotation !== undefined || this.#isClosed) return;
    const stop = startBackgroundTimer(this.#options.settings().intervalMs, () => {
      this.#stopRotation = undefined;
      this.#rotate();
    });
    this.#stopRotation = stop;
  }

  #rotate(): void {
    const { intervalMs, maxChurn } = this.#options.settings();
    const now = this.#now();
    const hadTurn = (job: Job) =>
      job.state === 'running' && job.order.replication.continuous && now - (job.startedAt ?? now) >= intervalMs;
    const leaving = hadTheirTurn(this.#slots, hadTurn).slice(0, Math.min(maxChurn, this.#waiting.size));
    void runCooperatively(this.#interruptEach(leaving, now));
    this.#startWaiting();
  }

  /** It is queued again as soon as its attempt has ended. */
  #interrupt(job: Job, now: number): void {
    job.note({ type: 'stopped', at: now });
    job.state = 'pending';
    job.abort?.();
  }

  /** In a later turn: once for all that changes in this one. */
  #noteActivity(): void {
    if (this.#isNoting) return;
    this.#isNoting = true;
    void nextTurn().then(() => {
      this.#isNoting = false;
      const { activity } = this;
      if (activity === this.#lastActivity || this.#isClosed) return;
      this.#lastActivity = activity;
      this.#options.host.onActivity?.(activity);
    });
  }

  #start(job: Job): void {
    const controller = new AbortController();
    const { run, host, tasks } = this.#options;
    const { replication, id } = job.order;
    job.task?.end();
    const task = tasks.startReplication(jobIdentity(job));
    job.state = 'running';
    job.startedAt = this.#now();
    job.hasReached = false;
    job.figures = undefined;
    job.isIdle = false;
    job.abort = () => controller.abort();
    job.task = task;
    const trouble = taskTrouble(job);
    if (trouble !== undefined) task.pause(trouble);
    job.note({ type: 'started', at: job.startedAt });
    this.#running.add(job);
    const log = this.#logOf(job);
    log.info(`replication ${id.full} started: ${describeJob(job)}`);
    const observer = new JobObserver(job, task, {
      now: () => this.#now(),
      onActivity: () => this.#noteActivity(),
    });
    job.attempt = Promise.resolve()
      .then(() =>
        whenReady(assertRights(replication), () =>
          run(replication, id.base, { ...host, log }, observer, controller.signal),
        ),
      )
      .then(
        (result) => this.#complete(job, result, controller.signal),
        (failure: unknown) => this.#fail(job, failure, controller.signal),
      )
      .finally(() => {
        if (!isPaused(job)) task.end();
        this.#noteActivity();
      });
  }

  /** Anyone may request any number of replications that fail. */
  #logOf({ order }: Job): Log {
    const { log } = this.#options.host;
    return isAdmin(order.owner) ? log : logOfClients(log);
  }

  /** The attempt is over: its slot is free. Returns whether its outcome counts: not if it was aborted from outside. */
  #end(job: Job, signal: AbortSignal): boolean {
    this.#running.delete(job);
    job.abort = undefined;
    job.isIdle = false;
    const counts = !signal.aborted && this.#jobs.get(job.id) === job;
    if (!counts && !this.#isClosed) {
      // It gave way to others, and continues later.
      if (this.#jobs.get(job.id) === job) this.#queue(job);
      else this.#startWaiting();
    }
    return counts;
  }

  #complete(job: Job, result: RunResult, signal: AbortSignal): void {
    if (!this.#end(job, signal)) return;
    job.state = 'completed';
    job.updatedAt = this.#now();
    job.recover();
    this.#jobs.delete(job.id);
    this.#logOf(job).info(`replication ${job.id} completed: ${describeJob(job)}`);
    job.order.listener?.completed?.(job, result);
    job.settle(result);
    this.#startWaiting();
  }

  #fail(job: Job, failure: unknown, signal: AbortSignal): void {
    if (!this.#end(job, signal)) return;
    const { host } = this.#options;
    const reason = failureText(failure);
    const now = this.#now();
    job.failingSince ??= job.figures?.outage?.since ?? now;
    job.lastFailure = reason;
    const retryMs = this.#countFailure(job, failure);
    job.state = retryMs === undefined ? 'failed' : job.pauses > 0 ? job.pauseState : 'crashing';
    job.note({ type: isPaused(job) ? 'stopped' : 'crashed', at: now, reason });
    const what = isPaused(job) ? 'is paused' : 'failed';
    this.#logOf(job).info(`replication ${job.id} ${what} (${describeJob(job)}), ${whatFollows(retryMs)}: ${reason}`);
    if (!isDatabaseError(failure)) host.log.error(`unexpected failure of replication ${job.id}`, failure);
    if (retryMs !== undefined) this.#retryLater(job, retryMs, failure);
    else if (!job.order.isKept) this.#jobs.delete(job.id);
    job.order.listener?.failed?.(job, failure, retryMs);
    // Callers that wait for it learn of this attempt: the next one may be hours away, or never come.
    job.reject(failure, retryMs === undefined);
    this.#startWaiting();
  }

  /**
   * Returns the wait until the next attempt; undefined if there is none. A device that is offline has not failed, and neither has a user who
   * is not logged in: such attempts don't count.
   */
  #countFailure(job: Job, failure: unknown): number | undefined {
    if (!job.order.isKept) {
      job.failures++;
      return undefined;
    }
    const pause = pauseOf(failure);
    if (pause !== undefined) {
      job.pauseState = pause;
      return backOffMs(++job.pauses, failure);
    }
    job.pauses = 0;
    job.failures++;
    const isLast = failure instanceof RightsEnded || job.failures > this.#options.settings().maxRetries;
    return isLast ? undefined : backOffMs(job.failures, failure);
  }

  /** At once when what the failure names is there: a host, which may respond to another replication before that, or credentials. */
  #retryLater(job: Job, retryMs: number, failure: unknown): void {
    job.nextAttempt = this.#now() + retryMs;
    const goOn = () => {
      job.abort?.();
      job.abort = undefined;
      this.#queue(job);
    };
    const stopTimer = startBackgroundTimer(retryMs, goOn);
    const stopListening = job.pauseEnd.expect(failure, this.#options.host, goOn);
    job.abort = () => {
      stopTimer();
      stopListening?.();
    };
    const trouble = taskTrouble(job);
    if (isPaused(job) && trouble !== undefined) job.task?.pause(trouble);
  }
}

/** Whether it waits after a failure, or has given up. */
function isRetried(job: Job): boolean {
  return job.waits || job.state === 'failed';
}

/** Whether it waits after an attempt that did not count. */
function isPaused({ state }: Job): boolean {
  return state === 'paused' || state === 'unauthorized';
}

function whatFollows(retryMs: number | undefined): string {
  return retryMs === undefined ? 'no further attempt' : `next attempt in ${Math.ceil(retryMs / 1000)} s`;
}

function closing(): DatabaseError {
  return new DatabaseError(
    'shutting_down',
    'The service is shutting down. Replications that it keeps continue when it starts again.',
  );
}
