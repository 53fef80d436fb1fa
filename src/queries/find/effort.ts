/**
 * Counts the steps of selectors (docs/http/find.md#steps-of-selectors): a comparison, a branch, an instruction of a pattern. Everything that a
 * selector does to a document takes a number of steps in proportion to its time, some ten nanoseconds each. Small
 * work is done at once; larger work is abandoned and done again in steps, between which other work can run.
 */
import type { CooperativeTask } from '../../base/shared/turn.ts';
import { queryError } from './query-error.ts';

/** Steps that are done in one go. */
export const GO_STEPS = 8_192;
/** Steps that a document may take: about a second. */
const DOCUMENT_STEPS = 20_000_000;

/** A check of a value that takes steps. */
export interface Check {
  /** Runs the check in one go. Throws what `Effort.take` throws. */
  now(value: unknown, effort: Effort): boolean;
  /** Runs the check however long it takes; yields where other work may run. */
  inSteps(value: unknown, effort: Effort): CooperativeTask<boolean>;
}

/** The steps that everything in one request takes together. */
export class StepBudget {
  readonly #most: number;
  #used = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Fails with 400 `too_many_steps` when they are used up. */
  spend(steps: number): void {
    this.#used += steps;
    if (this.#used > this.#most) {
      throw tooManySteps(
        `The query takes more than ${this.#most} steps (svc/max_selector_steps)`,
        'Narrow it down by an index, or ask for a part of the documents at a time',
      );
    }
  }
}

/** Thrown when a go has no steps left. */
const GIVEN_UP = new Error('the go has no steps left');

/** The steps of one value that is checked. */
export class Effort {
  readonly #budget: StepBudget | undefined;
  /** Steps that are left in the go. */
  #left = 0;
  #used = 0;
  #sinceRest = 0;

  constructor(budget: StepBudget | undefined) {
    this.#budget = budget;
  }

  /** Returns the result of the check; undefined if that takes more than one go. */
  attempt(check: Check, value: unknown): boolean | undefined {
    const known = this.#go(check, value);
    this.count(GO_STEPS - this.#left);
    return known;
  }

  /** Like `attempt`, for a new value: forgets the steps that earlier values took. */
  begin(check: Check, value: unknown): boolean | undefined {
    const known = this.#go(check, value);
    this.#used = GO_STEPS - this.#left;
    this.#budget?.spend(this.#used);
    return known;
  }

  #go(check: Check, value: unknown): boolean | undefined {
    this.#left = GO_STEPS;
    try {
      return check.now(value, this);
    } catch (reason) {
      if (reason !== GIVEN_UP) throw reason;
      this.#left = Math.max(this.#left, 0);
      return undefined;
    }
  }

  /** To be called before work in one go: ends the go if it has fewer steps left. */
  take(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw GIVEN_UP;
  }

  /** Ends the go. */
  giveUp(): never {
    throw GIVEN_UP;
  }

  /** To be called before work in steps. Fails with 400 `too_many_steps`. */
  count(steps: number): void {
    this.#used += steps;
    this.#sinceRest += steps;
    if (this.#used > DOCUMENT_STEPS) {
      throw tooManySteps(
        `The selector takes more than ${DOCUMENT_STEPS} steps for one of the documents`,
        'Give it fewer conditions, shorter lists or shorter patterns',
      );
    }
    this.#budget?.spend(steps);
  }

  /** Returns whether it is time to yield; if so, the next interval begins. */
  isRestDue(): boolean {
    if (this.#sinceRest < GO_STEPS) return false;
    this.#sinceRest = 0;
    return true;
  }
}

/** Returns the result of the check for a value; yields to other work if that takes long. */
export function* settle(check: Check, value: unknown, effort: Effort): CooperativeTask<boolean> {
  const known = effort.attempt(check, value);
  if (effort.isRestDue()) yield;
  return known ?? (yield* check.inSteps(value, effort));
}

function tooManySteps(what: string, remedy: string): Error {
  return queryError('too_many_steps', `${what}. ${remedy}.`);
}
