import { DatabaseError } from '../../../base/errors/database-error.ts';
import { must } from '../../../base/shared/assert.ts';
import { type MaybePromise, whenReady } from '../../../base/shared/maybe-promise.ts';
import { filterInSteps, mapInSteps, runCooperatively, someInSteps } from '../../../base/shared/turn.ts';
import { isDesignId } from '../../documents/identifiers.ts';
import type { DocumentWrite, WriteGuard, WriteOptions, WriteOutcome } from '../contract.ts';

type Apply = (writes: readonly DocumentWrite[], options: WriteOptions) => Promise<WriteOutcome[]>;

/**
 * Validates writes before they are submitted to the write queue. Refused writes do not reach the queue; with
 * `allOrNothing` nothing of the request does then.
 */
export class ValidatedWrites {
  readonly #guard: WriteGuard;
  readonly #apply: Apply;
  /** Settles when the last exclusive work is done. */
  #exclusive: Promise<unknown> = Promise.resolve();

  constructor(guard: WriteGuard, apply: Apply) {
    this.#guard = guard;
    this.#apply = apply;
  }

  write(writes: readonly DocumentWrite[], options: WriteOptions): MaybePromise<WriteOutcome[]> {
    const looked = runCooperatively(someInSteps(writes, ({ id }) => isDesignId(id)));
    return whenReady(looked, (hasDesign) => {
      if (!hasDesign && !this.#guard.isNeeded) return this.#apply(writes, options);
      return this.#write(writes, options, hasDesign);
    });
  }

  async #write(given: readonly DocumentWrite[], options: WriteOptions, hasDesign: boolean): Promise<WriteOutcome[]> {
    try {
      const writes = (await this.#guard.prepare?.(given, options)) ?? given;
      const write = () => this.#validateAndWrite(writes, options, hasDesign);
      return await (this.#guard.isExclusive === true ? this.#alone(write) : write());
    } finally {
      // Before any caller learns that they are written.
      if (hasDesign) this.#guard.designsChanged();
    }
  }

  async #validateAndWrite(
    writes: readonly DocumentWrite[],
    options: WriteOptions,
    hasDesign: boolean,
  ): Promise<WriteOutcome[]> {
    const mustValidate = hasDesign || this.#guard.isNeeded;
    const verdicts = mustValidate ? await this.#guard.validate(writes, options) : [];
    const isRefused = await runCooperatively(someInSteps(verdicts, (verdict) => verdict !== undefined));
    return isRefused ? this.#writeRest(writes, verdicts, options) : this.#apply(writes, options);
  }

  /** Runs the work when everything that was begun before has ended. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#exclusive.then(work);
    this.#exclusive = done.catch(() => undefined);
    return done;
  }

  async #writeRest(
    writes: readonly DocumentWrite[],
    verdicts: readonly (DatabaseError | undefined)[],
    options: WriteOptions,
  ): Promise<WriteOutcome[]> {
    const rest = await runCooperatively(filterInSteps(writes, (_write, index) => verdicts[index] === undefined));
    const isAborted = options.allOrNothing === true;
    const outcomes = isAborted || rest.length === 0 ? [] : await this.#apply(rest, options);
    let next = 0;
    const outcomeOf = ({ id, rev }: DocumentWrite, index: number): WriteOutcome => {
      const error = verdicts[index] ?? (isAborted ? aborted() : undefined);
      return error === undefined ? must(outcomes[next++]) : { ok: false, id, rev, error };
    };
    return runCooperatively(mapInSteps(writes, outcomeOf));
  }
}

function aborted(): DatabaseError {
  const reason = 'Nothing of the request was written, since another of its documents was refused.';
  return new DatabaseError('cancelled', reason);
}
