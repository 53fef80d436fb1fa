/**
 * One worker of the sandbox, seen from outside. Its functions end by themselves when their time is up; if that fails, because one is
 * stuck inside the engine, the worker is ended as a whole.
 */
import { startBackgroundTimer } from '../../../base/shared/clock.ts';
import { buffersOf } from './long-texts.ts';
import {
  type FromWorker,
  longTextsOf,
  type ToWorker,
  WIRE_VERSION,
  type WireAnswer,
  type WireFailure,
} from './wire.ts';

/** A thread, as its host makes it. It runs `createSandboxWorker` (sandbox-worker.ts). */
export interface SandboxPort {
  /** It was already sent `start`. */
  readonly isStarted?: boolean;
  /** `handedOver`: buffers in the message that are transferred to the other thread instead of being copied. */
  post(message: unknown, handedOver?: readonly ArrayBuffer[]): void;
  /** Called once. `onEnd`: the thread has ended by itself, or could not be started. */
  listen(onMessage: (message: unknown) => void, onEnd: (cause: unknown) => void): void;
  /** Ends the thread, whatever it does. `onEnd` need not be called then. */
  end(): void;
}

/** A question to a worker, and the callbacks of the caller. */
export interface Job {
  readonly question: Extract<ToWorker, { type: 'call' | 'beginList' | 'callList' }>;
  readonly timeoutMs: number;
  onAnswer(answer: WireAnswer, messages: readonly string[]): void;
  onFailure(failure: WireFailure, messages: readonly string[]): void;
  /** Called if there is no worker for it. */
  onUnavailable(): void;
}

export interface WorkerEvents {
  onReady(): void;
  /** A job is done; the worker may take another. */
  onFree(): void;
  /** The worker has been idle for long, and no list waits in it. */
  onIdle(): void;
  /** The worker is gone. `stuck`: the job that it was running; `others`: what it had not begun. */
  onEnd(end: WorkerEnd): void;
}

interface WorkerEnd {
  /** `time` if it had to be ended; else it ended by itself, which it does when the memory of its thread is used up. */
  readonly kind: 'time' | 'memory';
  readonly cause: unknown;
  readonly stuck: Job | undefined;
  readonly others: readonly Job[];
}

/** A busy machine may keep a worker from running for this long. */
const GRACE_MS = 2_000;
/** How long a worker may take to be ready. */
const START_MS = 30_000;
/** A worker with nothing to do is kept for this long: starting one takes some 50 ms, and keeping one some 10 MB. */
const IDLE_MS = 60_000;

export class SupervisedWorker {
  isReady = false;
  isEnded = false;
  /** Takes no more jobs, and is ended as soon as it has nothing more to do. */
  isRetiring = false;
  /** How many lists wait in it. */
  lists = 0;
  readonly #port: SandboxPort;
  readonly #events: WorkerEvents;
  /** Jobs that it has not answered yet; it works on the first. */
  #jobs: Job[] = [];
  readonly #programs = new Set<number>();
  #stopTimer: () => void = () => undefined;

  constructor(port: SandboxPort, start: Extract<ToWorker, { type: 'start' }>, events: WorkerEvents) {
    this.#port = port;
    this.#events = events;
    port.listen(
      (message) => this.#receive(message as FromWorker),
      (cause) => this.#ended('memory', cause),
    );
    this.#endAfter(START_MS);
    if (port.isStarted !== true) this.#post(start);
  }

  get jobs(): readonly Job[] {
    return this.#jobs;
  }

  knows(program: number): boolean {
    return this.#programs.has(program);
  }

  open(message: Extract<ToWorker, { type: 'open' }>): void {
    this.#programs.add(message.program);
    this.#post(message);
  }

  forget(program: number): void {
    if (this.#programs.delete(program)) this.#post({ type: 'forget', program });
  }

  releaseList(list: number): void {
    this.lists--;
    this.#post({ type: 'releaseList', list });
    this.#awaitWork();
  }

  ask(job: Job): void {
    this.#jobs.push(job);
    const isFirst = this.#jobs.length === 1;
    if (isFirst) this.#await(job);
    // A job that does not begin at once may have to be passed to another worker.
    this.#post(job.question, isFirst ? buffersOf(longTextsOf(job.question)) : []);
  }

  /** Ends the thread without calling any event. */
  end(): void {
    this.isEnded = true;
    this.#stopTimer();
    this.#port.end();
  }

  #post(message: ToWorker, handedOver: readonly ArrayBuffer[] = []): void {
    if (!this.isEnded) this.#port.post(message, handedOver);
  }

  #receive(message: FromWorker): void {
    if (this.isEnded) return;
    const [job, ...rest] = this.#jobs;
    if (message.type === 'ready') {
      this.#started(message.version);
    } else if (message.type === 'spent') {
      this.isRetiring = true;
      this.#events.onFree();
    } else if (job !== undefined && message.type === 'step') {
      this.#await(job);
    } else if (job !== undefined && message.type !== 'step') {
      this.#jobs = rest;
      this.#stopTimer();
      if (rest[0] !== undefined) this.#await(rest[0]);
      if (message.type === 'answer') job.onAnswer(message.answer, message.messages);
      else job.onFailure(message.failure, message.messages);
      this.#events.onFree();
      this.#awaitWork();
    }
  }

  #started(version: string): void {
    if (version !== WIRE_VERSION) {
      this.#ended('time', 'its file is of another version');
      return;
    }
    this.#stopTimer();
    this.isReady = true;
    this.#events.onReady();
    this.#awaitWork();
  }

  #await(job: Job): void {
    // In two steps: if both threads were frozen meanwhile, as in a background tab, the answer can still arrive in the second one.
    this.#setTimer(job.timeoutMs, () => this.#endAfter(GRACE_MS));
  }

  #awaitWork(): void {
    if (!this.isEnded && this.#jobs.length === 0 && this.lists === 0)
      this.#setTimer(IDLE_MS, () => this.#events.onIdle());
  }

  #endAfter(ms: number): void {
    this.#setTimer(ms, () => this.#ended('time', 'it did not answer in time'));
  }

  #setTimer(ms: number, onTime: () => void): void {
    this.#stopTimer();
    this.#stopTimer = startBackgroundTimer(ms, onTime);
  }

  #ended(kind: WorkerEnd['kind'], cause: unknown): void {
    if (this.isEnded) return;
    this.end();
    const [stuck, ...others] = this.#jobs;
    this.#jobs = [];
    this.#events.onEnd({ kind, cause, stuck, others });
  }
}
