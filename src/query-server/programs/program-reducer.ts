/** A reduce function of one program: many groups at once, and the rule that results must shrink (docs/http.md#reduce-functions). */
import { DatabaseError } from '../../errors/database-error.ts';
import { assert } from '../../shared/assert.ts';
import type { ReduceGroup, ReduceLimit, Reducer } from '../contract.ts';
import type { Isolate } from '../isolates/isolate.ts';
import { SEPARATOR } from '../runtime/protocol.ts';

/** Results up to this length need not shrink. */
const FREE_LENGTH = 200;

/** What a reducer needs of its program. */
interface IsolateUser {
  /** Runs `work` with the program's isolate in this turn, or fails. */
  useNow<T>(work: (isolate: Isolate) => T): T;
  log(message: string): void;
}

export class ProgramReducer implements Reducer {
  readonly #user: IsolateUser;
  readonly #source: string;
  readonly #limit: ReduceLimit;

  constructor(user: IsolateUser, source: string, limit: ReduceLimit) {
    this.#user = user;
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
    const text = this.#user.useNow((isolate) => {
      return isolate.call(operation, isolate.add('addReducer', this.#source), texts.join(SEPARATOR));
    });
    const results = text.split('\n');
    assert(results.length === lengths.length, 'one result for each group');
    if (this.#limit !== 'false') for (const [at, result] of results.entries()) this.#check(result, lengths[at] ?? 0);
    return results;
  }

  #check(result: string, inputLength: number): void {
    if (result.length <= FREE_LENGTH || result.length * 2 <= inputLength) return;
    const shown = `Current output: '${result.slice(0, 100)}'... (first 100 of ${result.length} bytes)`;
    const reason = `Reduce output must shrink more rapidly: ${shown}`;
    if (this.#limit === 'true') throw new DatabaseError('reduce_overflow_error', reason);
    this.#user.log(`reduce_overflow_error: ${reason}`);
  }
}
