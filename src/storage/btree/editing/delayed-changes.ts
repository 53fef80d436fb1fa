import { must } from '../../../base/shared/assert.ts';
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import type { TreeChange, TreeSpec } from '../contract.ts';
import type { EntrySums } from '../nodes/slots.ts';

/** Number of changes that are added up between two looks at the clock. */
const CHANGES_PER_STEP = 256;

/** What is known of a tree before it is changed. */
interface TreeSums<R> extends EntrySums {
  readonly reduction: R | undefined;
}

/**
 * Changes of a tree that were accepted but have no nodes yet. Since the values that they replace are known,
 * the sums of the whole tree are known, too.
 */
export class DelayedChanges<K, R> {
  /** Sorted, each key once. */
  readonly changes: readonly TreeChange<K>[];
  readonly count: number;
  readonly bytes: number;
  /** Undefined if nothing is left. */
  readonly reduction: R | undefined;
  readonly #spec: TreeSpec<K, R>;

  private constructor(spec: TreeSpec<K, R>, changes: readonly TreeChange<K>[], sums: TreeSums<R>) {
    this.#spec = spec;
    this.changes = changes;
    this.count = sums.count;
    this.bytes = sums.bytes;
    this.reduction = sums.reduction;
  }

  /** Returns undefined if the reduction can't be worked out from these values. `formerValues`: what the tree has under the same keys. */
  static *of<K, R>(
    spec: TreeSpec<K, R>,
    before: TreeSums<R>,
    changes: readonly TreeChange<K>[],
    formerValues: readonly (string | undefined)[],
  ): CooperativeTask<DelayedChanges<K, R> | undefined> {
    if (spec.adjust === undefined || before.reduction === undefined) return undefined;
    let { count, bytes } = before;
    let reduction: R = before.reduction;
    for (let from = 0; from < changes.length; from += CHANGES_PER_STEP) {
      const former: string[] = [];
      const added: string[] = [];
      for (let index = from; index < Math.min(from + CHANGES_PER_STEP, changes.length); index += 1) {
        const { key, value } = must(changes[index]);
        const formerValue = formerValues[index];
        const keyBytes = spec.encodeKey(key).length + 2;
        if (formerValue !== undefined) {
          former.push(formerValue);
          count -= 1;
          bytes -= keyBytes + formerValue.length;
        }
        if (value !== undefined) {
          added.push(value);
          count += 1;
          bytes += keyBytes + value.length;
        }
      }
      reduction = spec.adjust(reduction, former, added);
      yield;
    }
    return new DelayedChanges(spec, changes, { count, bytes, reduction: count === 0 ? undefined : reduction });
  }

  /** Returns the change of a key, if there is one. */
  find(key: K): TreeChange<K> | undefined {
    let low = 0;
    let high = this.changes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#spec.compare(must(this.changes[middle]).key, key) < 0) low = middle + 1;
      else high = middle;
    }
    const change = this.changes[low];
    return change !== undefined && this.#spec.compare(change.key, key) === 0 ? change : undefined;
  }
}
