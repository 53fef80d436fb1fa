/** The sandbox on QuickJS, compiled to WebAssembly: the same in browsers and Node, and without `unsafe-eval`. */

import type { DatabaseError } from '../../../base/errors/database-error.ts';
import { isObject } from '../../../base/json/objects.ts';
import { parseInTurns } from '../../../base/json/parse-in-steps.ts';
import { type Clock, systemClock } from '../../../base/shared/clock.ts';
import { type MaybePromise, whenReady } from '../../../base/shared/maybe-promise.ts';
import { TimeSlice } from '../../../base/shared/turn.ts';
import type {
  FunctionResponse,
  ListResult,
  Mapper,
  Program,
  ProgramSource,
  ReduceLimit,
  Reducer,
  RowSource,
  Sandbox,
  UpdateResult,
  ValidatedWrite,
} from '../contract.ts';
import type { CallAnswer, FunctionCall } from '../execution/function-call.ts';
import { LocalExecutor } from '../execution/local-executor.ts';
import { type ExecutorThreads, ProgramExecutor } from '../execution/program-executor.ts';
import { type SandboxWorkers, WorkerPool } from '../execution/worker-pool.ts';
import { IsolateFailure, toCallError } from '../isolates/call-failures.ts';
import { type IsolateOwner, IsolatePool } from '../isolates/isolate-pool.ts';
import { MAX_ISOLATES, shareMemory } from '../isolates/memory-shares.ts';
import { QuickJsInstanceFactory, type WasmLoader } from '../isolates/quickjs-instance.ts';
import { type OperationName, SEPARATOR } from '../runtime/protocol.ts';
import { finishedList, readAhead, toResponse, WaitingList } from './function-responses.ts';
import { ProgramMapper } from './program-mapper.ts';
import { ProgramReducer } from './program-reducer.ts';
import { ResumableLists } from './resumable-source.ts';

export type { SandboxPort, SandboxWorkers } from '../execution/worker-pool.ts';
export type { WasmLoader } from '../isolates/quickjs-instance.ts';

export interface QuickJsSandboxOptions {
  readonly loadWasm: WasmLoader;
  /** How many isolates there may be at a time in each thread, each of some 3 MB and what its functions hold; default 16. */
  readonly maxIsolates?: number;
  /** What all isolates together may take, in all threads; default 1 GB. */
  readonly memoryBytes?: number | undefined;
  readonly clock?: Clock;
  /** Threads for long calls. Without them everything runs in this one. */
  readonly workers?: SandboxWorkers | undefined;
  /** Without workers: requests are answered in this thread, so that functions have a tenth of their limits. Default false. */
  readonly sharesThread?: boolean;
}

/** Programs that are kept so that `open` finds them again; any others are created again, which costs little. */
const MAX_PROGRAMS = 256;

/** Creates a sandbox. Loads nothing yet. */
export function createQuickJsSandbox(options: QuickJsSandboxOptions): Sandbox {
  return new QuickJsSandbox(options);
}

class QuickJsSandbox implements Sandbox {
  readonly #pool: IsolatePool;
  readonly #places: ExecutorThreads;
  readonly #clock: Clock;
  /** In the order in which they were last opened. */
  readonly #programs = new Map<string, QuickJsProgram>();

  constructor(options: QuickJsSandboxOptions) {
    const { loadWasm, maxIsolates = MAX_ISOLATES, clock = systemClock, workers, sharesThread = false } = options;
    const shares = shareMemory(options.memoryBytes, workers?.count);
    const factory = new QuickJsInstanceFactory(loadWasm, shares.local.isolateBytes);
    const compiled = () => factory.compiled();
    const limits = { maxIsolates, memory: shares.worker };
    this.#clock = clock;
    this.#pool = new IsolatePool(factory, clock, { maxIsolates, memory: shares.local });
    this.#places = {
      local: new LocalExecutor(this.#pool, clock),
      workers: workers && new WorkerPool({ workers, count: shares.workers, limits, clock, compiled }),
      sharesThread,
    };
  }

  async open(source: ProgramSource): Promise<Program> {
    const key = JSON.stringify([source.scope, source.signature, source.timeoutMs, source.memoryBytes]);
    const program = this.#programs.get(key) ?? this.#create(source);
    this.#programs.delete(key);
    this.#programs.set(key, program);
    if (this.#programs.size > MAX_PROGRAMS) this.#forgetOldest();
    await program.begin();
    return program;
  }

  close(): void {
    this.#programs.clear();
    this.#pool.close();
    this.#places.workers?.close();
  }

  #create(source: ProgramSource): QuickJsProgram {
    return new QuickJsProgram(source, (owner) => new ProgramExecutor(owner, this.#places, this.#clock));
  }

  #forgetOldest(): void {
    for (const [key, program] of this.#programs) {
      this.#programs.delete(key);
      program.close();
      return;
    }
  }
}

const DEFAULT_MEMORY_BYTES = 64 * 1024 * 1024;

/** A program on QuickJS: its functions as calls of an isolate, and what their answers mean. */
class QuickJsProgram implements Program, IsolateOwner {
  readonly options: Required<ProgramSource>;
  /** Known once the program has begun. */
  validates = false;
  #isSearched = false;
  readonly #executor: ProgramExecutor;
  readonly #resumableLists: ResumableLists;

  constructor(source: ProgramSource, createExecutor: (owner: IsolateOwner) => ProgramExecutor) {
    this.options = { ...source, memoryBytes: source.memoryBytes ?? DEFAULT_MEMORY_BYTES };
    this.#executor = createExecutor(this);
    this.#resumableLists = new ResumableLists(source.designDocument);
  }

  log(message: string): void {
    this.options.log(message);
  }

  /** Creates the isolate if there is none. */
  async begin(): Promise<void> {
    if (!this.#isSearched) {
      this.validates = await hasValidator(this.options.designDocument);
      this.#isSearched = true;
    }
    await this.#executor.run({ operation: 'compile', texts: [] });
  }

  mapper(maps: readonly string[]): MaybePromise<Mapper> {
    const compiled = this.#executor.run({
      functions: { kind: 'addMap', sources: maps },
      operation: 'compile',
      texts: [],
    });
    return whenReady(compiled, () => new ProgramMapper(this, maps));
  }

  reducer(source: string, limit: ReduceLimit): MaybePromise<Reducer> {
    const functions = { kind: 'addReducer', sources: [source] } as const;
    const compiled = this.#executor.run({ functions, operation: 'compile', texts: [] });
    return whenReady(compiled, () => new ProgramReducer(this, source, limit));
  }

  /** If a batch took too much, each of its writes is validated by itself: perhaps only one, or none, takes too much. */
  async validate(writes: readonly ValidatedWrite[]): Promise<readonly (DatabaseError | undefined)[]> {
    if (writes.length === 0) return [];
    if (!this.validates) return writes.map(() => undefined);
    try {
      return await this.#validateBatch(writes);
    } catch (failure) {
      if (!(failure instanceof IsolateFailure)) throw failure;
      // A single write that takes too much time or memory fails the call. One that overflows the stack is refused.
      if (writes.length === 1 && failure.kind !== 'stack') throw failure;
      if (writes.length === 1) return [failure];
    }
    const outcomes: (DatabaseError | undefined)[] = [];
    const timeSlice = new TimeSlice();
    for (const write of writes) {
      outcomes.push(...(await this.validate([write])));
      if (timeSlice.isDue) await timeSlice.rest();
    }
    return outcomes;
  }

  #validateBatch(writes: readonly ValidatedWrite[]): MaybePromise<readonly (DatabaseError | undefined)[]> {
    // The texts of a single write stay as they are: to cut them apart again would take their length once more.
    const texts = [
      writes.map(({ newDocument }) => newDocument).join(SEPARATOR),
      writes.map(({ oldDocument }) => oldDocument).join(SEPARATOR),
      writes.flatMap(({ userContext, securityObject }) => [userContext, securityObject]).join(SEPARATOR),
    ];
    return whenReady(this.#call('validate', ...texts), (answer) =>
      answer.split(SEPARATOR).map((outcome) => (outcome === '' ? undefined : toCallError(outcome))),
    );
  }

  filter(name: string, documents: readonly string[], request: string): MaybePromise<readonly boolean[]> {
    if (documents.length === 0) return [];
    return whenReady(this.#call('filter', name, request, documents.join(SEPARATOR)), toFlags);
  }

  filterByView(name: string, documents: readonly string[]): MaybePromise<readonly boolean[]> {
    if (documents.length === 0) return [];
    return whenReady(this.#call('filterByView', name, documents.join(SEPARATOR)), toFlags);
  }

  show(name: string, document: string, request: string): MaybePromise<FunctionResponse> {
    return whenReady(this.#call('show', name, document, request), toResponse);
  }

  update(name: string, document: string, request: string): MaybePromise<UpdateResult> {
    return whenReady(this.#call('update', name, document, request), (text) => {
      const at = text.indexOf(SEPARATOR);
      return { document: at === 0 ? undefined : text.slice(0, at), response: toResponse(text.slice(at + 1)) };
    });
  }

  async list(name: string, head: string, request: string, rows: RowSource): Promise<ListResult> {
    const source = await this.#resumableLists.sourceOf(name);
    if (source !== undefined) {
      const begun = await this.#executor.beginList({ name, source, head, request });
      if (begun !== undefined) return WaitingList.create(begun, rows);
    }
    const batches = await readAhead(rows);
    const { text } = await this.#executor.run({ operation: 'list', texts: [name, head, request], rows: batches });
    return finishedList(text);
  }

  close(): void {
    this.#executor.close();
  }

  /** Returns how many calls may run at a time. */
  get concurrency(): number {
    return this.#executor.concurrency;
  }

  /** The part of its limits that a call has. */
  get limitShare(): number {
    return this.#executor.limitShare;
  }

  /** Runs a call, at first in this thread if the call is small. */
  run(call: FunctionCall): MaybePromise<CallAnswer> {
    return this.#executor.run(call);
  }

  /** Runs a call in a worker right away, if there are workers. */
  runInWorker(call: FunctionCall): MaybePromise<CallAnswer> {
    return this.#executor.runInWorker(call);
  }

  /** Runs a call, in this turn if that does not take long. */
  runNow(call: FunctionCall): MaybePromise<CallAnswer> {
    return this.#executor.runNow(call);
  }

  #call(operation: OperationName, ...texts: readonly string[]): MaybePromise<string> {
    return whenReady(this.#executor.run({ operation, texts }), ({ text }) => text);
  }
}

const toFlags = (text: string): boolean[] => Array.from(text, (flag) => flag === '1');

async function hasValidator(designDocument: string): Promise<boolean> {
  // Parsing a large design document blocks the thread. Any letter of the name may be escaped.
  if (!/"validate_doc_update"|\\u/.test(designDocument)) return false;
  const design = await parseInTurns(designDocument);
  return isObject(design) && 'validate_doc_update' in design;
}
