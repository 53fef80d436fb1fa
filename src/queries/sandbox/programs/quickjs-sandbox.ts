/** The sandbox on QuickJS, compiled to WebAssembly: the same in browsers and Node, and without `unsafe-eval`. */
import { type Clock, systemClock } from '../../../base/shared/clock.ts';
import type { Program, ProgramSource, Sandbox } from '../contract.ts';
import { LocalExecutor } from '../execution/local-executor.ts';
import { type ExecutorThreads, ProgramExecutor } from '../execution/program-executor.ts';
import { type SandboxWorkers, WorkerPool } from '../execution/worker-pool.ts';
import { IsolatePool } from '../isolates/isolate-pool.ts';
import { MOST_ISOLATES, shareMemory } from '../isolates/memory-shares.ts';
import { QuickJsInstanceFactory, type WasmLoader } from '../isolates/quickjs-instance.ts';
import { QuickJsProgram } from './quickjs-program.ts';

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
    const { loadWasm, maxIsolates = MOST_ISOLATES, clock = systemClock, workers, sharesThread = false } = options;
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
