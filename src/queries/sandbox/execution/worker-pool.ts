/**
 * The workers of a sandbox. Calls wait in one queue, in which programs take turns, and are passed to any free worker. A worker
 * that ran out of memory, failed inside or is stuck is ended, and another one takes its place. One that has had nothing to do for long is
 * ended, too.
 */
import { must } from '../../../base/shared/assert.ts';
import { type Clock, startBackgroundTimer } from '../../../base/shared/clock.ts';
import { type CooperativeTask, runCooperatively } from '../../../base/shared/turn.ts';
import { listLost, sandboxClosed } from '../isolates/call-failures.ts';
import type { IsolateOwner, PoolLimits } from '../isolates/isolate-pool.ts';
import type { CompiledWasm } from '../isolates/quickjs-instance.ts';
import {
  type BegunList,
  type CallAnswer,
  type Executor,
  type FunctionCall,
  type ListBeginning,
  lengthOf,
} from './function-call.ts';
import { JobQueue } from './job-queue.ts';
import { allToBytes, type CallText, LONG_CALL, LongCalls } from './long-texts.ts';
import { type Job, type SandboxPort, SupervisedWorker } from './supervised-worker.ts';
import { fromWireFailure, toWireFailure, type WireAnswer } from './wire.ts';

export type { SandboxPort } from './supervised-worker.ts';

/** Where a host runs workers of the sandbox. */
export interface SandboxWorkers {
  /** How many there may be at a time. */
  readonly count: number;
  create(): SandboxPort;
  /**
   * Called when no worker can be started, and not again until one could be; calls then run in this thread, with less time. The start is
   * retried now and then.
   */
  onUnavailable?(cause: unknown): void;
}

interface WorkerPoolOptions {
  readonly workers: SandboxWorkers;
  /** As many as `workers` has, or fewer. */
  readonly count: number;
  /** The limits of each worker. */
  readonly limits: PoolLimits;
  readonly clock: Clock;
  readonly compiled: () => Promise<CompiledWasm>;
}

/** Calls of one program that a worker has at a time: while one is answered, it continues with the next. */
const MAX_JOBS = 2;
/**
 * If there is one worker, another one is started when calls have waited this long. Its start takes a processor about that long, which quick
 * functions can use better.
 */
const PATIENCE_MS = 100;
/** How often in a row a worker may end before it is ready. */
const MAX_FAILED_STARTS = 3;
/** When to retry starting one: the source that the worker is loaded from may have been unreachable. */
const TRY_AGAIN_MS = 60_000;

/** No worker can be started. */
export class WorkersUnavailable extends Error {}

export class WorkerPool implements Executor {
  readonly #options: WorkerPoolOptions;
  readonly #queue = new JobQueue<IsolateOwner, Job>();
  readonly #workers = new Set<SupervisedWorker>();
  readonly #programs = new WeakMap<IsolateOwner, number>();
  readonly #owners = new WeakMap<Job, IsolateOwner>();
  readonly #workerOf = new WeakMap<Job, SupervisedWorker>();
  readonly #long = new LongCalls();
  #lastProgram = 0;
  #compiled: CompiledWasm | undefined;
  #failedStarts = 0;
  /** Until then no worker is started. */
  #noStartUntil = 0;
  /** Stops the clock; set while calls wait without a break, and not yet long enough. */
  #stopWaiting: (() => void) | undefined;
  #haveWaited = false;
  #isClosed = false;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
  }

  get concurrency(): number {
    return this.isAvailable ? this.#options.count * MAX_JOBS : 1;
  }

  /** Returns whether there is a worker, or one may be started. */
  get isAvailable(): boolean {
    return this.#mayStart || [...this.#workers].some(({ isReady, isRetiring }) => isReady && !isRetiring);
  }

  get #mayStart(): boolean {
    return this.#options.clock.monotonic() >= this.#noStartUntil;
  }

  /** Runs a call. Can also fail with `WorkersUnavailable`. */
  async run(owner: IsolateOwner, call: FunctionCall): Promise<CallAnswer> {
    const ask = async (passed: FunctionCall) => {
      const { answer } = await this.#ask(owner, { type: 'call', program: this.#numberOf(owner), call: passed });
      return answer;
    };
    const length = lengthOf(call);
    return length <= LONG_CALL
      ? ask(call)
      : this.#long.run(length, async () => ask(await runCooperatively(withBytes(call))));
  }

  async beginList(owner: IsolateOwner, list: ListBeginning): Promise<BegunList | undefined> {
    const question = { type: 'beginList', program: this.#numberOf(owner), list } as const;
    const { answer, worker } = await this.#ask(owner, question);
    if (answer.isUnfit === true) return undefined;
    const number = must(answer.list, 'a list that waits has a number');
    return {
      answer: answer.text,
      call: async (operation, texts) => {
        const ask = async (passed: readonly CallText[]) => {
          const asked = { type: 'callList', list: number, operation, texts: passed } as const;
          return (await this.#ask(owner, asked, worker)).answer.text;
        };
        const length = lengthOf({ operation, texts });
        return length <= LONG_CALL
          ? ask(texts)
          : this.#long.run(length, async () => ask(await runCooperatively(allToBytes(texts))));
      },
      release: () => {
        worker.releaseList(number);
        this.#endIfRetired(worker);
      },
    };
  }

  forget(owner: IsolateOwner): void {
    const program = this.#programs.get(owner);
    if (program === undefined) return;
    for (const worker of this.#workers) worker.forget(program);
  }

  close(): void {
    this.#isClosed = true;
    this.#endWaiting();
    const waiting = [...this.#workers].flatMap((worker) => worker.jobs);
    for (const worker of this.#workers) worker.end();
    this.#workers.clear();
    for (const job of [...waiting, ...this.#queue.takeAll()]) job.onFailure(toWireFailure(sandboxClosed()), []);
  }

  async #ask(
    owner: IsolateOwner,
    question: Job['question'],
    pinned?: SupervisedWorker,
  ): Promise<{ readonly answer: WireAnswer; readonly worker: SupervisedWorker }> {
    // Compiled on first use; fails with `functions_unavailable`.
    this.#compiled ??= await this.#options.compiled();
    if (!this.isAvailable) throw new WorkersUnavailable();
    if (this.#isClosed) throw sandboxClosed();
    return new Promise((resolve, reject) => {
      const log = (messages: readonly string[]): void => {
        for (const message of messages) owner.options.log(message);
      };
      const job: Job = {
        question,
        timeoutMs: owner.options.timeoutMs,
        onAnswer: (answer, messages) => {
          log(messages);
          const worker = must(this.#workerOf.get(job), 'a worker has the job');
          if (answer.list !== undefined) worker.lists++;
          resolve({ answer, worker });
        },
        onFailure: (failure, messages) => {
          log(messages);
          const worker = this.#workerOf.get(job);
          const isDamaged = 'kind' in failure && (failure.kind === 'memory' || failure.kind === 'fault');
          if (isDamaged && worker !== undefined) worker.isRetiring = true;
          reject(fromWireFailure(failure));
        },
        onUnavailable: () => reject(new WorkersUnavailable()),
      };
      this.#owners.set(job, owner);
      if (pinned === undefined) this.#queue.add(owner, job);
      else if (pinned.isEnded) job.onFailure(toWireFailure(listLost()), []);
      else this.#give(job, owner, pinned);
      this.#dispatch();
    });
  }

  #give(job: Job, owner: IsolateOwner, worker: SupervisedWorker): void {
    const program = this.#numberOf(owner);
    const { designId, designDocument, timeoutMs, memoryBytes } = owner.options;
    if (!worker.knows(program)) {
      worker.open({ type: 'open', program, source: { designId, designDocument, timeoutMs, memoryBytes } });
    }
    this.#workerOf.set(job, worker);
    worker.ask(job);
  }

  /** Passes waiting calls to free workers, and starts one if there may be more. */
  #dispatch(): void {
    for (;;) {
      const taken = this.#queue.take((owner) => this.#freeFor(owner) !== undefined);
      if (taken === undefined) break;
      this.#give(taken.job, taken.owner, must(this.#freeFor(taken.owner)));
    }
    const isStarting = [...this.#workers].some(({ isReady }) => !isReady);
    const active = [...this.#workers].filter(({ isRetiring }) => !isRetiring);
    if (this.#queue.isEmpty) this.#endWaiting();
    if (this.#queue.isEmpty || isStarting || active.length >= this.#options.count) return;
    if (this.#mayStart && active.length > 0 && !this.#haveWaited) this.#beginWaiting();
    else if (this.#mayStart) this.#start();
    else if (active.length === 0) for (const job of this.#queue.takeAll()) job.onUnavailable();
  }

  #beginWaiting(): void {
    this.#stopWaiting ??= startBackgroundTimer(PATIENCE_MS, () => {
      this.#haveWaited = true;
      this.#dispatch();
    });
  }

  #endWaiting(): void {
    this.#stopWaiting?.();
    this.#stopWaiting = undefined;
    this.#haveWaited = false;
  }

  /** Returns a worker that has nothing to do; else one that works only for the same program. */
  #freeFor(owner: IsolateOwner): SupervisedWorker | undefined {
    const ready = [...this.#workers].filter(({ isReady, isRetiring }) => isReady && !isRetiring);
    return (
      ready.find(({ jobs }) => jobs.length === 0) ??
      ready.find(({ jobs }) => jobs.length < MAX_JOBS && jobs.every((job) => this.#owners.get(job) === owner))
    );
  }

  #start(): void {
    const { workers, limits } = this.#options;
    this.#endWaiting();
    try {
      const start = { type: 'start', compiled: must(this.#compiled), limits } as const;
      const worker = new SupervisedWorker(workers.create(), start, {
        onReady: () => {
          this.#failedStarts = 0;
          this.#dispatch();
        },
        onFree: () => {
          this.#endIfRetired(worker);
          this.#dispatch();
        },
        onIdle: () => {
          this.#workers.delete(worker);
          worker.end();
        },
        onEnd: ({ kind, cause, stuck, others }) => {
          this.#workers.delete(worker);
          if (!worker.isReady) this.#noteFailedStart(cause);
          stuck?.onFailure({ kind }, []);
          for (const job of others) this.#putBack(job);
          this.#dispatch();
        },
      });
      this.#workers.add(worker);
    } catch (cause) {
      this.#noteFailedStart(cause);
      this.#dispatch();
    }
  }

  /** Passes a job that a lost worker had not begun to another; calls of its lists can't be passed on. */
  #putBack(job: Job): void {
    const owner = this.#owners.get(job);
    if (job.question.type === 'callList' || owner === undefined) job.onFailure(toWireFailure(listLost()), []);
    else this.#queue.addFirst(owner, job);
  }

  #noteFailedStart(cause: unknown): void {
    this.#failedStarts++;
    if (this.#failedStarts < MAX_FAILED_STARTS) return;
    this.#noStartUntil = this.#options.clock.monotonic() + TRY_AGAIN_MS;
    if (this.#failedStarts === MAX_FAILED_STARTS) this.#options.workers.onUnavailable?.(cause);
  }

  #endIfRetired(worker: SupervisedWorker): void {
    if (!worker.isRetiring || worker.jobs.length > 0) return;
    const retired = [...this.#workers].filter(({ isRetiring }) => isRetiring);
    // A worker in which lists wait is kept, unless there are too many.
    if (worker.lists > 0 && retired.length <= this.#options.count) return;
    this.#workers.delete(worker);
    worker.end();
  }

  #numberOf(owner: IsolateOwner): number {
    const known = this.#programs.get(owner);
    if (known !== undefined) return known;
    this.#lastProgram++;
    this.#programs.set(owner, this.#lastProgram);
    return this.#lastProgram;
  }
}

function* withBytes(call: FunctionCall): CooperativeTask<FunctionCall> {
  const { texts, rows } = call;
  return { ...call, texts: yield* allToBytes(texts), ...(rows && { rows: yield* allToBytes(rows) }) };
}
