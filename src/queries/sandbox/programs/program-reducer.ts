/** A reduce function of one program: many groups at once, and the rule that results must shrink (docs/http/views.md#reduce-functions). */
import { DatabaseError } from '../../../base/errors/database-error.ts';
import { assert } from '../../../base/shared/assert.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import { Pending } from '../../../base/shared/pending.ts';
import type { ReduceGroup, ReduceLimit, Reducer } from '../contract.ts';
import type { CallAnswer, FunctionCall } from '../execution/function-call.ts';
import { SEPARATOR } from '../runtime/protocol.ts';

/** Results up to this length need not shrink. */
const FREE_LENGTH = 200;

/** Texts and failures of calls that could not be answered in their turn, kept until the calls are repeated. */
const MAX_RESULTS = 16;

/** What a reducer needs of its program. */
interface CallRunner {
  /** Runs a call, in this turn if that does not take long. */
  runNow(call: FunctionCall): MaybePromise<CallAnswer>;
  log(message: string): void;
}

export class ProgramReducer implements Reducer {
  readonly #runner: CallRunner;
  readonly #source: string;
  readonly #limit: ReduceLimit;
  /** Results by operation and input; the oldest are dropped. */
  readonly #results = new Map<string, { readonly text: string } | { readonly failure: unknown }>();

  constructor(runner: CallRunner, source: string, limit: ReduceLimit) {
    this.#runner = runner;
    this.#source = source;
    this.#limit = limit;
  }

  reduce(groups: readonly ReduceGroup[]): readonly string[] {
    const texts = groups.flatMap(({ keys, values }) => [keys, values]);
    return this.#run(
      'reduce',
      texts,
      groups.map(({ keys, values }) => keys.length + values.length),
    );
  }

  rereduce(groups: readonly string[]): readonly string[] {
    return this.#run(
      'rereduce',
      groups,
      groups.map(({ length }) => length),
    );
  }

  #run(operation: 'reduce' | 'rereduce', texts: readonly string[], lengths: readonly number[]): readonly string[] {
    if (lengths.length === 0) return [];
    const text = this.#textOf(operation, texts.join(SEPARATOR));
    const results = text.split('\n');
    assert(results.length === lengths.length, 'one result for each group');
    if (this.#limit !== 'false') for (const [at, result] of results.entries()) this.#check(result, lengths[at] ?? 0);
    return results;
  }

  #textOf(operation: 'reduce' | 'rereduce', input: string): string {
    const key = `${operation}${input}`;
    const known = this.#results.get(key);
    if (known !== undefined && 'text' in known) return known.text;
    if (known !== undefined) {
      this.#results.delete(key);
      throw known.failure;
    }
    const functions = { kind: 'addReducer', sources: [this.#source] } as const;
    const answer = this.#runner.runNow({ functions, operation, texts: [input] });
    if (!(answer instanceof Promise)) return answer.text;
    throw new Pending(
      answer.then(
        ({ text }) => this.#keep(key, { text }),
        (failure: unknown) => this.#keep(key, { failure }),
      ),
    );
  }

  #keep(key: string, result: { readonly text: string } | { readonly failure: unknown }): void {
    this.#results.set(key, result);
    for (const oldest of this.#results.keys()) {
      if (this.#results.size <= MAX_RESULTS) break;
      this.#results.delete(oldest);
    }
  }

  #check(result: string, inputLength: number): void {
    if (result.length <= FREE_LENGTH || result.length * 2 <= inputLength) return;
    const shown = `Current output: '${result.slice(0, 100)}'... (first 100 of ${result.length} bytes)`;
    const reason = `Reduce output must shrink more rapidly: ${shown}`;
    if (this.#limit === 'true') throw new DatabaseError('reduce_overflow_error', reason);
    this.#runner.log(`reduce_overflow_error: ${reason}`);
  }
}
