/**
 * The functions of one program that have proved quick in a worker. No others begin in the thread of requests: what a
 * stranger's function does there before it is interrupted (compilation, an array of millions, the memory that it takes) exceeds its slice.
 */
import type { FunctionCall } from './function-call.ts';

/** A call that took longer in a worker is not quick. */
const QUICK_MS = 10;
/** Functions that are remembered; when there are more, all have to prove it again. */
const MOST_FUNCTIONS = 1_000;

export class FastCallList {
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
    if (this.#count >= MOST_FUNCTIONS) {
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
