/** The sandbox on QuickJS, compiled to WebAssembly: the same in browsers and Node, and without `unsafe-eval`. */
import { type Clock, systemClock } from '../../shared/clock.ts';
import type { Program, ProgramSource, Sandbox } from '../contract.ts';
import { IsolatePool } from '../isolates/isolate-pool.ts';
import { QuickJsInstanceFactory, type WasmLoader } from '../isolates/quickjs-instance.ts';
import { QuickJsProgram } from './quickjs-program.ts';

export type { WasmLoader } from '../isolates/quickjs-instance.ts';

export interface QuickJsSandboxOptions {
  readonly loadWasm: WasmLoader;
  /** How many isolates there may be at a time, each of some 3 MB and what its functions hold; default 16. */
  readonly maxIsolates?: number;
  readonly clock?: Clock;
}

/** Programs that are kept so that `open` finds them again; those beyond are made anew, which costs little. */
const MAX_PROGRAMS = 256;

/** Loads nothing yet. */
export function createQuickJsSandbox(options: QuickJsSandboxOptions): Sandbox {
  return new QuickJsSandbox(options);
}

class QuickJsSandbox implements Sandbox {
  readonly #pool: IsolatePool;
  readonly #clock: Clock;
  /** In the order in which they were last opened. */
  readonly #programs = new Map<string, QuickJsProgram>();

  constructor({ loadWasm, maxIsolates = 16, clock = systemClock }: QuickJsSandboxOptions) {
    this.#clock = clock;
    this.#pool = new IsolatePool(new QuickJsInstanceFactory(loadWasm), clock, maxIsolates);
  }

  async open(source: ProgramSource): Promise<Program> {
    const key = JSON.stringify([source.scope, source.signature, source.timeoutMs, source.memoryBytes]);
    const program = this.#programs.get(key) ?? new QuickJsProgram(source, this.#pool, this.#clock);
    this.#programs.delete(key);
    this.#programs.set(key, program);
    if (this.#programs.size > MAX_PROGRAMS) this.#forgetOldest();
    await program.begin();
    return program;
  }

  close(): void {
    this.#programs.clear();
    this.#pool.close();
  }

  #forgetOldest(): void {
    for (const [key, program] of this.#programs) {
      this.#programs.delete(key);
      program.close();
      return;
    }
  }
}
