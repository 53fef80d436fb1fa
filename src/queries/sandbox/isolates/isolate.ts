/**
 * An isolate: one QuickJS runtime with one context, started with the sandboxes' program (runtime/) and one design document. Calls are
 * synchronous, take and return text, and end by their deadline at the latest. An isolate whose call ended with an `IsolateFailure` can't
 * be used any more: dispose it.
 */
/// <reference path="./virtual-modules.d.ts" />
import { SANDBOX_PROGRAM } from 'virtual:sandbox-program';
import type { QuickJSContext, QuickJSHandle, QuickJSRuntime } from 'quickjs-emscripten-core';
import type { Clock } from '../../../base/shared/clock.ts';
import type { CallText } from '../execution/long-texts.ts';
import { type OperationName, type ResumableSource, SEPARATOR } from '../runtime/protocol.ts';
import { IsolateFailure, toCallError, toList } from './call-failures.ts';
import { InstanceStopped, isInstanceFault, type QuickJsInstance } from './quickjs-instance.ts';

/**
 * Room for QuickJS's own stack, in bytes: some 800 calls deep. More would exceed the stack of the host, which QuickJS
 * can't see, before it exceeds this.
 */
const STACK_BYTES = 160 * 1024;
/** In addition to the functions' own memory: what QuickJS and the program need. */
const BASE_BYTES = 4 * 1024 * 1024;
/** Jobs (promises) that a call leaves are run, so that they do not pile up; more than this many count as a timeout. */
const MAX_JOBS = 10_000;
/** Native loops are stopped this long after the deadline, or after a call's time if that is shorter, since that costs the instance. */
const GRACE_MS = 50;

export interface IsolateOptions {
  readonly designId: string;
  readonly designDocument: string;
  readonly timeoutMs: number;
  readonly memoryBytes: number;
  log(message: string): void;
}

/** A runtime and a context in which the sandboxes' program was evaluated, before it is known for which design document. */
export interface PreparedContext {
  readonly runtime: QuickJSRuntime;
  readonly context: QuickJSContext;
  readonly perform: QuickJSHandle;
  /** What the program's `pullRows` calls. */
  readonly rows: { pull?: ((sent: string) => CallText) | undefined };
}

/** Prepares a context. Takes some 50 ms if nothing of QuickJS ran before; the next isolate in this instance does not need that time. */
export function prepareContext(instance: QuickJsInstance): PreparedContext {
  const runtime = instance.quickjs.newRuntime();
  runtime.setMaxStackSize(STACK_BYTES);
  const context = runtime.newContext();
  const rows: PreparedContext['rows'] = {};
  const pull = context.newFunction('pullRows', (sent) => {
    return newText(context, instance, rows.pull?.(context.getString(sent)) ?? '');
  });
  const create = context.unwrapResult(
    context.evalCode(SANDBOX_PROGRAM, 'settee.js', { type: 'global', strict: false }),
  );
  const perform = context.unwrapResult(context.callFunction(create, context.undefined, pull));
  create.dispose();
  pull.dispose();
  return { runtime, context, perform, rows };
}

export class Isolate {
  readonly instance: QuickJsInstance;
  readonly options: IsolateOptions;
  /** The instance is damaged, and can't be used for another isolate. */
  isBroken = false;
  /** How long each call from now on may take. */
  timeoutMs: number;
  /** When it was last used, by the clock, in milliseconds; only for the pool. */
  usedAt = 0;
  readonly #clock: Clock;
  readonly #runtime: QuickJSRuntime;
  readonly #context: QuickJSContext;
  readonly #perform: QuickJSHandle;
  /** Texts that come with many calls: names of operations, and the empty text. */
  readonly #constants = new Map<string, QuickJSHandle>();
  /** What the program answered to `addMap` and the like, by operation and source or name. */
  readonly #added = new Map<string, string>();
  readonly #rows: PreparedContext['rows'];
  #deadline = Number.POSITIVE_INFINITY;
  #isOutOfTime = false;

  /** `prepared`: the context of that instance, if it was prepared. */
  constructor(instance: QuickJsInstance, options: IsolateOptions, clock: Clock, prepared = prepareContext(instance)) {
    this.instance = instance;
    this.options = options;
    this.timeoutMs = options.timeoutMs;
    this.#clock = clock;
    this.#runtime = prepared.runtime;
    this.#context = prepared.context;
    this.#perform = prepared.perform;
    this.#rows = prepared.rows;
    this.#runtime.setMemoryLimit(options.memoryBytes + BASE_BYTES);
    this.#runtime.setInterruptHandler(() => this.#isLate(0));
    instance.onTick = () => {
      if (this.#isLate(Math.min(GRACE_MS, this.timeoutMs))) throw new InstanceStopped('a native loop ran out of time');
    };
    this.call('begin', options.designId, options.designDocument);
  }

  /** Returns the index of a compiled function among its kind; compiles it on first use. Fails with `compilation_error`. */
  add(kind: 'addMap' | 'addReducer', source: string): string {
    const key = `${kind}\n${source}`;
    const index = this.#added.get(key) ?? this.call(kind, source);
    this.#added.set(key, index);
    return index;
  }

  /** Returns whether a list function can wait for its rows; compiles it on first use. Fails with `compilation_error`. */
  addList(name: string, { check, text }: ResumableSource): boolean {
    const key = `addList\n${name}`;
    const added = this.#added.get(key) ?? this.call('addList', name, check, text);
    this.#added.set(key, added);
    return added !== '';
  }

  /** Runs one operation of the program. */
  call(operation: OperationName, first: CallText = '', second: CallText = '', third: CallText = ''): string {
    this.#isOutOfTime = false;
    this.#deadline = this.#clock.monotonic() + this.timeoutMs;
    let answer: string;
    try {
      answer = this.#run(operation, [first, second, third]);
      this.#runJobs();
    } catch (error) {
      throw this.#toFailure(error);
    } finally {
      this.#deadline = Number.POSITIVE_INFINITY;
    }
    // A function can catch the interruption in some places (a Set's constructor does).
    if (this.#isOutOfTime) throw new IsolateFailure('time');
    return this.#read(answer);
  }

  /** Like `call('list', …)`; `pullRows` takes what was sent so far, and returns the next rows (JSON array) or `''`. */
  callList([name, head, request]: readonly CallText[], pullRows: (sent: string) => CallText): string {
    this.#rows.pull = pullRows;
    try {
      return this.call('list', name, head, request);
    } finally {
      this.#rows.pull = undefined;
    }
  }

  /** Frees what it holds; returns false if the instance can't be used for another isolate. */
  dispose(): boolean {
    this.instance.onTick = () => {};
    if (this.isBroken) return false;
    try {
      for (const handle of this.#constants.values()) handle.dispose();
      this.#perform.dispose();
      this.#context.dispose();
      this.#runtime.dispose();
      return true;
    } catch {
      this.isBroken = true;
      return false;
    }
  }

  #run(operation: OperationName, texts: readonly CallText[]): string {
    const context = this.#context;
    const values = texts.map((text) => (text === '' ? this.#constant('') : newText(context, this.instance, text)));
    const result = context.callFunction(this.#perform, context.undefined, [this.#constant(operation), ...values]);
    for (const [index, value] of values.entries()) if (texts[index] !== '') value.dispose();
    if (result.error !== undefined) {
      const thrown: unknown = context.dump(result.error);
      result.error.dispose();
      throw new Error(messageOf(thrown));
    }
    const answer = context.getString(result.value);
    result.value.dispose();
    return answer;
  }

  #runJobs(): void {
    if (!this.#runtime.hasPendingJob()) return;
    this.#runtime.executePendingJobs(MAX_JOBS).dispose();
    this.#isOutOfTime ||= this.#runtime.hasPendingJob();
  }

  #constant(text: string): QuickJSHandle {
    const known = this.#constants.get(text) ?? this.#context.newString(text);
    this.#constants.set(text, known);
    return known;
  }

  /** Returns the result in an answer of the program (runtime/protocol.ts); messages go to the log. */
  #read(answer: string): string {
    const start = answer.indexOf(SEPARATOR);
    if (start > 0) for (const message of toList(answer.slice(0, start))) this.options.log(String(message));
    if (answer.charAt(start + 1) === 'R') return answer.slice(start + 2);
    throw toCallError(answer.slice(start + 2));
  }

  #isLate(graceMs: number): boolean {
    if (this.#clock.monotonic() < this.#deadline + graceMs) return false;
    this.#isOutOfTime = true;
    return true;
  }

  #toFailure(error: unknown): IsolateFailure {
    const message = messageOf(error);
    this.isBroken ||= isInstanceFault(error);
    if (this.#isOutOfTime) return new IsolateFailure('time', error);
    if (message.includes('out of memory')) return new IsolateFailure('memory', error);
    return new IsolateFailure(
      error instanceof RangeError || message.includes('stack overflow') ? 'stack' : 'fault',
      error,
    );
  }
}

function newText(context: QuickJSContext, instance: QuickJsInstance, text: CallText): QuickJSHandle {
  return context.newString(typeof text === 'string' ? text : instance.standInFor(text));
}

function messageOf(thrown: unknown): string {
  if (typeof thrown === 'object' && thrown !== null && 'message' in thrown) return String(thrown.message);
  return String(thrown);
}
