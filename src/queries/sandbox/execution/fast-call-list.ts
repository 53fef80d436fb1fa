/**
 * Which functions of one program have shown in a worker that they are quick. No other begins in the thread of requests: what a function of
 * a stranger does there before it is interrupted (its compilation, an array of millions, the memory that it takes) is more than its slice.
 */
import type { FunctionCall } from './function-call.ts';

/** A call that took longer in a worker is not quick. */
const QUICK_MS = 10;
/** Functions that are remembered; when there are more, all have to show it again. */
const MOST_FUNCTIONS = 1_000;

export class FastCallList {
  /** What identifies the functions of a call, by operation. */
  readonly #functions = new Map<string, Set<string>>();
  #count = 0;

  has(call: FunctionCall): boolean {
    return this.#functions.get(call.operation)?.has(identify(call)) === true;
  }

  /** Takes note of how long a call took in a worker. */
  note(call: FunctionCall, ms: number): void {
    if (ms > QUICK_MS) this.forget(call);
    else if (!this.has(call)) this.#add(call);
  }

  /** They have to show it again. */
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

/** The sources of the functions, the name of the one that is called, or nothing where there is one only, as in validations. */
function identify({ functions, operation, texts }: FunctionCall): string {
  if (functions !== undefined) {
    const [first = '', ...others] = functions.sources;
    return others.length === 0 ? first : functions.sources.join('\n');
  }
  const [name] = texts;
  return operation !== 'validate' && operation !== 'compile' && typeof name === 'string' ? name : '';
}
