/**
 * Decides where the calls of one program run. Without workers they run in this thread, with all the time that the program has.
 * With workers, a small call of a function that a worker found to be quick begins in this thread, for `SLICE_MS` at most, which
 * usually saves the round trip to a worker. A call that takes longer runs again in a worker, from its beginning: functions are pure. A
 * program whose calls took longer than that does not begin here for some time, which grows with each such call. If
 * requests are answered in this thread and there are no workers, or none can be started, calls have a tenth of their limits.
 */
import type { Clock } from '../../../base/shared/clock.ts';
import { type MaybePromise, orElse } from '../../../base/shared/maybe-promise.ts';
import { heldMs } from '../../../base/shared/turn.ts';
import { IsolateFailure } from '../isolates/call-failures.ts';
import type { IsolateOwner } from '../isolates/isolate-pool.ts';
import { type BegunList, type CallAnswer, type FunctionCall, type ListBeginning, lengthOf } from './function-call.ts';
import { IsolateMissing, type LocalExecutor } from './local-executor.ts';
import { type WorkerPool, WorkersUnavailable } from './worker-pool.ts';

/** How long a call may hold this thread, if there are workers. */
const SLICE_MS = 20;
/** How long all calls that have to return in one turn may hold it together: a tree has up to a hundred reduce functions. */
const TURN_MS = 40;
/** Passing a longer text to an isolate takes too much of a slice. */
const MAX_SLICE_LENGTH = 128 * 1024;
/** After the first call that took longer, the program's calls begin in a worker for this long; after each further one twice as long. */
const FIRST_AVOIDED_MS = 2_000;
const MAX_BACKOFF_MS = 600_000;
/** The fraction of its limits that a program has in a thread that answers requests. */
const SHARE_OF_REQUESTS_THREAD = 1 / 10;

/** Where programs may run. */
export interface ExecutorThreads {
  readonly local: LocalExecutor;
  readonly workers: WorkerPool | undefined;
  /** Requests are answered in this thread, even if there are no workers. */
  readonly sharesThread: boolean;
}

export class ProgramExecutor {
  readonly #owner: IsolateOwner;
  readonly #local: LocalExecutor;
  readonly #workers: WorkerPool | undefined;
  readonly #sharesThread: boolean;
  readonly #clock: Clock;
  readonly #isSmall: boolean;
  readonly #proven = new FastCallList();
  #avoidedMs = FIRST_AVOIDED_MS;
  #avoidedUntil = 0;

  constructor(owner: IsolateOwner, { local, workers, sharesThread }: ExecutorThreads, clock: Clock) {
    this.#owner = owner;
    this.#local = local;
    this.#workers = workers;
    this.#sharesThread = sharesThread || workers !== undefined;
    this.#clock = clock;
    this.#isSmall = owner.options.designDocument.length <= MAX_SLICE_LENGTH;
  }

  /** Returns how many calls can usefully run at a time. */
  get concurrency(): number {
    return this.#workers?.concurrency ?? 1;
  }

  /** The part of its limits that a call has when it runs to its end. */
  get limitShare(): number {
    return this.#usableWorkers === undefined && this.#sharesThread ? SHARE_OF_REQUESTS_THREAD : 1;
  }

  run(call: FunctionCall): MaybePromise<CallAnswer> {
    if (this.#usableWorkers === undefined) return this.#runHere(call);
    return this.#beginHere(call, (sliceMs) => this.#local.run(this.#owner, call, sliceMs));
  }

  /** Like `run`, but in this turn unless it is left to a worker. */
  runNow(call: FunctionCall): MaybePromise<CallAnswer> {
    if (this.#usableWorkers === undefined) return this.#local.runNow(this.#owner, call, this.#timeHere);
    const leftMs = TURN_MS - heldMs();
    if (leftMs <= 0) return this.runInWorker(call);
    return this.#beginHere(call, (sliceMs) => this.#local.runNow(this.#owner, call, Math.min(sliceMs, leftMs)));
  }

  #beginHere(call: FunctionCall, begin: (sliceMs: number) => MaybePromise<CallAnswer>): MaybePromise<CallAnswer> {
    if (!this.#mayBeginHere(call)) return this.runInWorker(call);
    return orElse(
      () => begin(Math.min(SLICE_MS, this.#owner.options.timeoutMs)),
      (failure) => {
        if (failure instanceof IsolateMissing) {
          this.#local.prepare(this.#owner);
          return this.runInWorker(call);
        }
        // A call that overflows the stack here also does so there.
        if (!(failure instanceof IsolateFailure) || failure.kind === 'stack') throw failure;
        this.#avoidThread(this.#avoidedMs);
        this.#proven.forget(call);
        return this.runInWorker(call);
      },
    );
  }

  /** Runs a call in a worker; without workers, like `run`. */
  runInWorker(call: FunctionCall): MaybePromise<CallAnswer> {
    const workers = this.#usableWorkers;
    if (workers === undefined) return this.#runHere(call);
    return this.#runIn(workers, call);
  }

  async #runIn(workers: WorkerPool, call: FunctionCall): Promise<CallAnswer> {
    try {
      const answer = await workers.run(this.#owner, call);
      this.#proven.note(call, answer.ms);
      return answer;
    } catch (failure) {
      if (failure instanceof WorkersUnavailable) return this.#runHere(call);
      this.#proven.forget(call);
      if (failure instanceof IsolateFailure && failure.kind === 'time') this.#avoidThread(MAX_BACKOFF_MS);
      throw failure;
    }
  }

  #avoidThread(ms: number): void {
    this.#avoidedUntil = this.#clock.monotonic() + ms;
    this.#avoidedMs = Math.min(ms * 2, MAX_BACKOFF_MS);
  }

  /** Begins a list in a worker from the start, because a list that has taken rows can't be run again. */
  async beginList(list: ListBeginning): Promise<BegunList | undefined> {
    const workers = this.#usableWorkers;
    try {
      if (workers !== undefined) return await workers.beginList(this.#owner, list);
    } catch (failure) {
      if (!(failure instanceof WorkersUnavailable)) throw failure;
    }
    return this.#local.beginList(this.#owner, list, this.#timeHere);
  }

  /** Returns undefined if there are none, or none can be started. */
  get #usableWorkers(): WorkerPool | undefined {
    return this.#workers?.isAvailable === true ? this.#workers : undefined;
  }

  #runHere(call: FunctionCall): MaybePromise<CallAnswer> {
    return this.#local.run(this.#owner, call, this.#timeHere);
  }

  /** Undefined, which means all the time of the program for each step, if nothing else needs this thread. */
  get #timeHere(): number | undefined {
    return this.#sharesThread ? this.#owner.options.timeoutMs * SHARE_OF_REQUESTS_THREAD : undefined;
  }

  close(): void {
    this.#local.dispose(this.#owner);
    this.#workers?.forget(this.#owner);
  }

  #mayBeginHere(call: FunctionCall): boolean {
    if (!this.#isSmall || !this.#proven.has(call) || lengthOf(call) > MAX_SLICE_LENGTH) return false;
    return this.#clock.monotonic() >= this.#avoidedUntil && this.#local.hasRoomFor(this.#owner);
  }
}

/** A call that took longer in a worker is not quick. */
const QUICK_MS = 10;
/** Functions that are remembered; when there are more, all are measured again. */
const MAX_FUNCTIONS = 1_000;

/**
 * The functions of one program that were quick in a worker. No others begin in the thread that answers requests: what an
 * untrusted function does there before it is interrupted (compilation, an array of millions, the memory that it takes) exceeds its slice.
 */
class FastCallList {
  /** What identifies the functions of a call, by operation. */
  readonly #functions = new Map<string, Set<string>>();
  #count = 0;

  has(call: FunctionCall): boolean {
    return this.#functions.get(call.operation)?.has(identify(call)) === true;
  }

  /** Records how long a call took in a worker. */
  note(call: FunctionCall, ms: number): void {
    if (ms > QUICK_MS) this.forget(call);
    else if (!this.has(call)) this.#add(call);
  }

  /** Makes the functions of a call prove it again. */
  forget(call: FunctionCall): void {
    if (this.#functions.get(call.operation)?.delete(identify(call)) === true) this.#count--;
  }

  #add(call: FunctionCall): void {
    if (this.#count >= MAX_FUNCTIONS) {
      this.#functions.clear();
      this.#count = 0;
    }
    const known = this.#functions.get(call.operation) ?? new Set();
    this.#functions.set(call.operation, known.add(identify(call)));
    this.#count++;
  }
}

/** Returns the sources of the functions, the name of the one that is called, or nothing if there is only one, as in validations. */
function identify({ functions, operation, texts }: FunctionCall): string {
  if (functions !== undefined) {
    const [first = '', ...others] = functions.sources;
    return others.length === 0 ? first : functions.sources.join('\n');
  }
  const [name] = texts;
  return operation !== 'validate' && operation !== 'compile' && typeof name === 'string' ? name : '';
}
