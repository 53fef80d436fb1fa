import { DatabaseError, type ErrorCode } from '../../../base/errors/database-error.ts';
import { isDigit, MINUS } from '../../../base/json/characters.ts';
import { Pending } from '../../../base/shared/pending.ts';
import { atOnce, type CooperativeTask, runCooperatively } from '../../../base/shared/turn.ts';

/** Consecutive rows of a view, as JSON texts. */
export interface RowList {
  readonly length: number;
  /** JSON text. */
  keyText(index: number): string;
  /** JSON text. */
  idText(index: number): string;
  /** JSON text. */
  valueText(index: number): string;
}

/**
 * One reduce of a view. Reductions are texts, because they are stored and passed to the sandbox as texts. They have no control
 * characters and do not begin with `!`. Reducers are synchronous and pure;
 * they throw `Pending` if a function takes long.
 *
 * Rows that can't be reduced result in a failure, which is stored like any reduction. A query fails with it if its range has such
 * rows, so one value of a wrong type makes neither the index nor other queries fail.
 */
export interface Reducer {
  /** Reduces rows, of which there is at least one. */
  reduce(rows: RowList): string;
  /** Combines reductions: at least one, and none of them is a failure. */
  rereduce(reductions: readonly string[]): string;
  /** The JSON text in the response to a query. Default: the reduction itself. */
  result?(reduction: string): string;
}

const FAILURE_MARK = '!';
/** Characters of a built-in reduction, at most. Every page of an index has the reductions of those below it. */
const MAX_LENGTH = 65_536;

export function failedReduction(code: ErrorCode, reason: string): string {
  return FAILURE_MARK + JSON.stringify([code, reason]);
}

/** Returns a built-in reduction whose length depends on what was emitted, or a failure if it is too long to be kept. */
export function checkedReduction(name: string, reduction: string): string {
  if (reduction.length <= MAX_LENGTH) return reduction;
  const reason = `The result of ${name} has ${reduction.length} characters, more than ${MAX_LENGTH}. Emit shorter values.`;
  return failedReduction('reduce_overflow_error', reason);
}

export function isFailed(reduction: string): boolean {
  return reduction.startsWith(FAILURE_MARK);
}

/** Returns the error of a failed reduction. */
export function failureOf(reduction: string): DatabaseError {
  const [code, reason] = JSON.parse(reduction.slice(FAILURE_MARK.length)) as [ErrorCode, string];
  return new DatabaseError(code, reason);
}

/** Combines reductions of one reducer. If some of them are failures, the first failure is the result. */
export function combineReductions(reducer: Reducer, reductions: readonly string[]): string {
  return reductions.find(isFailed) ?? reducer.rereduce(reductions);
}

/** Returns the number that a JSON text stands for; undefined if it is not a number. */
export function numberOf(text: string): number | undefined {
  const code = text.charCodeAt(0);
  return code === MINUS || isDigit(code) ? Number(text) : undefined;
}

/** Replaces infinity, which JSON can't write, with the largest double of the same sign. */
export function toFinite(value: number): number {
  return Number.isFinite(value) ? value : Math.sign(value) * Number.MAX_VALUE;
}

/** Returns the texts of all values. */
export function valueTexts(rows: RowList): string[] {
  return Array.from({ length: rows.length }, (_unused, index) => rows.valueText(index));
}

/** Characters that are reduced in one go. */
const SHORT = 65_536;
/** Reductions that are kept until they are requested again: enough for several queries at a time, if the reductions are not very long. */
const MAX_RESULTS = 256;
const MIN_RESULTS = 16;
const MAX_CHARACTERS = 33_554_432;

type Made = { readonly text: string } | { readonly failure: unknown };

/** The reductions of one built-in reduce whose values are long: other work can run while they are made. */
export class LongReductions {
  /** Reductions by their input; the oldest are dropped. */
  readonly #made = new Map<string, Made>();
  readonly #underWay = new Map<string, Promise<void>>();
  #characters = 0;

  /** Returns what `make` returns for the texts, which have no control characters, at once if they are short. Throws `Pending` if they are long. */
  of(operation: string, texts: readonly string[], make: (texts: readonly string[]) => CooperativeTask<string>): string {
    let length = 0;
    for (const text of texts) length += text.length;
    if (length <= SHORT) return atOnce(make(texts));
    const key = `${operation}\n${texts.join('\n')}`;
    const made = this.#made.get(key);
    if (made !== undefined && 'text' in made) return made.text;
    if (made !== undefined) {
      this.#drop(key);
      throw made.failure;
    }
    const ready = this.#underWay.get(key) ?? this.#make(key, make(texts));
    this.#underWay.set(key, ready);
    throw new Pending(ready);
  }

  async #make(key: string, steps: CooperativeTask<string>): Promise<void> {
    try {
      this.#keep(key, { text: await runCooperatively(steps) });
    } catch (failure) {
      this.#keep(key, { failure });
    } finally {
      this.#underWay.delete(key);
    }
  }

  #keep(key: string, made: Made): void {
    this.#made.set(key, made);
    this.#characters += key.length;
    for (const oldest of this.#made.keys()) {
      const { size } = this.#made;
      if (size <= MIN_RESULTS || (size <= MAX_RESULTS && this.#characters <= MAX_CHARACTERS)) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    if (this.#made.delete(key)) this.#characters -= key.length;
  }
}
