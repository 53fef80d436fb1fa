/** Compares values and counts the steps: values may be as long as a request. */
import type { CompareKeys } from '../../../base/collation/key-order.ts';
import { isObject } from '../../../base/json/objects.ts';
import { must } from '../../../base/shared/assert.ts';
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import { type Check, type Effort, GO_STEPS } from '../effort.ts';

/** Characters that are compared in the time of a step. */
const CHARACTERS_A_STEP = 128;

/** Whether a value sorts relative to another one as required. */
export class ComparisonCheck implements Check {
  readonly #compare: CompareKeys;
  readonly #other: unknown;
  readonly #passes: (order: number) => boolean;
  #otherSteps: number | undefined;

  constructor(compare: CompareKeys, other: unknown, passes: (order: number) => boolean) {
    this.#compare = compare;
    this.#other = other;
    this.#passes = passes;
  }

  now(value: unknown, effort: Effort): boolean {
    if (typeof value === 'string' || typeof value === 'object') {
      this.#otherSteps ??= stepsOf(this.#other);
      effort.take(pairSteps(value, this.#other, this.#otherSteps));
    } else effort.take(1);
    return this.#passes(this.#compare(value, this.#other));
  }

  *inSteps(value: unknown, effort: Effort): CooperativeTask<boolean> {
    return this.#passes(yield* compareInSteps(value, this.#other, this.#compare, effort));
  }
}

/** Returns the most steps that comparing two values takes, if one of them takes `otherSteps` (`stepsOf`). */
export function pairSteps(value: unknown, other: unknown, otherSteps: number): number {
  if (typeof value === 'string') {
    return typeof other === 'string' ? 1 + Math.floor(Math.max(value.length, other.length) / CHARACTERS_A_STEP) : 1;
  }
  return typeof value === 'object' && value !== null && typeof other === 'object' ? otherSteps : 1;
}

/** Returns the most steps that a comparison with the value takes; if that is more than one go has, any number above it. */
export function stepsOf(value: unknown, most = GO_STEPS): number {
  if (typeof value === 'string') return 1 + Math.floor(value.length / CHARACTERS_A_STEP);
  if (typeof value !== 'object' || value === null) return 1;
  if (Array.isArray(value) && value.length > most) return value.length;
  let steps = 1;
  for (const name of Object.keys(value)) {
    const member: unknown = Reflect.get(value, name);
    steps += 1 + Math.floor(name.length / CHARACTERS_A_STEP) + stepsOf(member, most - steps);
    if (steps > most) break;
  }
  return steps;
}

/** Like `compare`, for values of any length. */
export function* compareInSteps(
  left: unknown,
  right: unknown,
  compare: CompareKeys,
  effort: Effort,
): CooperativeTask<number> {
  if (Array.isArray(left) && Array.isArray(right)) return yield* compareArrays(left, right, compare, effort);
  if (isObject(left) && isObject(right)) return yield* compareObjects(left, right, compare, effort);
  effort.count(pairSteps(left, right, 1));
  if (effort.isRestDue()) yield;
  return compare(left, right);
}

function* compareArrays(
  left: readonly unknown[],
  right: readonly unknown[],
  compare: CompareKeys,
  effort: Effort,
): CooperativeTask<number> {
  const shorter = Math.min(left.length, right.length);
  for (let index = 0; index < shorter; index++) {
    const order = yield* compareInSteps(left[index], right[index], compare, effort);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

/** Members are compared in their own order: name, then value. */
function* compareObjects(
  left: Readonly<Record<string, unknown>>,
  right: Readonly<Record<string, unknown>>,
  compare: CompareKeys,
  effort: Effort,
): CooperativeTask<number> {
  const [leftNames, rightNames] = [Object.keys(left), Object.keys(right)];
  const shorter = Math.min(leftNames.length, rightNames.length);
  effort.count(shorter);
  for (let index = 0; index < shorter; index++) {
    const [leftName, rightName] = [must(leftNames[index]), must(rightNames[index])];
    const order =
      compare(leftName, rightName) || (yield* compareInSteps(left[leftName], right[rightName], compare, effort));
    if (order !== 0) return order;
  }
  return leftNames.length - rightNames.length;
}
