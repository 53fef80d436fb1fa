/** Creates functions that test whether a document fulfils a selector. */
import type { CompareKeys } from '../../../base/collation/key-order.ts';
import { parseInTurns } from '../../../base/json/parse-in-steps.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import { type CooperativeTask, isThreadUsedUp, LONG_STEP, runCooperatively } from '../../../base/shared/turn.ts';
import { type Check, Effort, type StepBudget } from '../effort.ts';
import { fieldOf } from './field-path.ts';
import type { Selector } from './selector.ts';
import { createCheck } from './selector-check.ts';

/**
 * Returns whether a value, as `JSON.parse` returns it, passes: at once if that takes no more steps than one go has, otherwise it yields
 * to other work meanwhile. Fails with 400 `too_many_steps`.
 */
export type Test = (value: unknown) => MaybePromise<boolean>;

/** Like `Test`, for the value's JSON text. */
export type TextTest = (text: string) => MaybePromise<boolean>;

interface TestOptions {
  /** Reads the field of a value at a path; undefined if there is none. */
  readonly read?: typeof fieldOf;
  /** The budget from which all tests of a request take. */
  readonly budget?: StepBudget | undefined;
}

/** Creates a test. `compare` is the order of view keys, and decides which values are equal. Ids are compared in raw order instead. */
export function createTest(
  selector: Selector,
  compare: CompareKeys,
  { read = fieldOf, budget }: TestOptions = {},
): Test {
  const check = createCheck(selector, compare, read);
  // Most values take one go, and need no effort of their own.
  const shared = new Effort(budget);
  return (value) => shared.begin(check, value) ?? runCooperatively(longTest(check, value, new Effort(budget)));
}

/** Creates a test of JSON texts, like `createTest`. */
export function createTextTest(selector: Selector, compare: CompareKeys, options: TestOptions = {}): TextTest {
  const test = createTest(selector, compare, options);
  return (text) => {
    const value = parseInTurns(text);
    return value instanceof Promise ? value.then(test) : test(value);
  };
}

function* longTest(check: Check, value: unknown, effort: Effort): CooperativeTask<boolean> {
  // The abandoned go has used up time of a turn that many others may share.
  if (isThreadUsedUp()) yield LONG_STEP;
  return yield* check.inSteps(value, effort);
}
