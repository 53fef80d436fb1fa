/** The changes that updates of an index make in watched ranges of rows. Unwatched ranges cost nothing. */

import { must } from '../../../base/shared/assert.ts';
import type { KeyRange, TreeChange } from '../../../storage/btree/contract.ts';
import type { RowKey } from '../trees/row-key.ts';
import type { RowTree } from '../trees/row-tree.ts';

/** A row that was added, changed (with its present value) or removed (with its former one). */
export interface RowDifference {
  readonly kind: 'added' | 'changed' | 'removed';
  readonly key: RowKey;
  readonly value: string;
  /** The version of the first state of the index that shows it. */
  readonly version: number;
}

/** Beyond this, reading the rows again is no more work. */
const MAX_ROWS = 10_000;
const MAX_CHARACTERS = 1_048_576;

type CompareRowKeys = (left: RowKey, right: RowKey) => number;

export class RowWatches {
  readonly #watches = new Set<RowWatch>();

  /** Begins a watch. `ranges`: of the rows of that tree. */
  begin(tree: number, ranges: readonly KeyRange<RowKey>[]): RowWatch {
    const watch = new RowWatch(tree, ranges, () => this.#watches.delete(watch));
    this.#watches.add(watch);
    return watch;
  }

  has(tree: number): boolean {
    for (const watch of this.#watches) if (watch.tree === tree) return true;
    return false;
  }

  /** To be called with changes of a tree, in its order, before they are made. They show in the state with that version. */
  async note(tree: number, { rows, changes, compare, version }: WatchedChanges): Promise<void> {
    const watches = [...this.#watches].filter((watch) => watch.tree === tree && !watch.isLost);
    const seen = changes.filter(({ key }) => watches.some((watch) => watch.covers(key, compare)));
    const values = await rows.getMany(seen.map(({ key }) => key));
    for (const [index, { key, value }] of seen.entries()) {
      const difference = differenceOf(key, values[index], value, version);
      if (difference === undefined) continue;
      for (const watch of watches) if (watch.covers(key, compare)) watch.add(difference);
    }
  }

  /** To be called when the rows are no longer those of before, as when the index is rebuilt. */
  lose(): void {
    for (const watch of this.#watches) watch.lose();
  }
}

interface WatchedChanges {
  /** The tree before the changes. */
  readonly rows: RowTree;
  readonly changes: readonly TreeChange<RowKey>[];
  readonly compare: CompareRowKeys;
  readonly version: number;
}

export class RowWatch {
  readonly tree: number;
  /** Whether there was too much to keep, or something that no difference can express. */
  isLost = false;
  readonly #ranges: readonly KeyRange<RowKey>[];
  readonly #forget: () => void;
  #differences: RowDifference[] = [];
  #characters = 0;

  constructor(tree: number, ranges: readonly KeyRange<RowKey>[], forget: () => void) {
    this.tree = tree;
    this.#ranges = ranges;
    this.#forget = forget;
  }

  covers(key: RowKey, compare: CompareRowKeys): boolean {
    return this.#ranges.some(
      ({ start, end }) =>
        (start === undefined || compare(start, key) <= 0) && (end === undefined || compare(key, end) <= 0),
    );
  }

  add(difference: RowDifference): void {
    this.#differences.push(difference);
    this.#characters += difference.key.text.length + difference.value.length;
    if (this.#differences.length > MAX_ROWS || this.#characters > MAX_CHARACTERS) this.lose();
  }

  lose(): void {
    this.isLost = true;
    this.#differences = [];
  }

  /** Returns what is known up to the state with that version, each difference once. Undefined if the rows have to be read again. */
  take(version: number): readonly RowDifference[] | undefined {
    if (this.isLost) {
      this.isLost = false;
      this.#characters = 0;
      return undefined;
    }
    const known = this.#differences.filter((difference) => difference.version <= version);
    this.#differences = this.#differences.filter((difference) => difference.version > version);
    this.#characters = 0;
    for (const { key, value } of this.#differences) this.#characters += key.text.length + value.length;
    return known;
  }

  end(): void {
    this.#forget();
    this.#differences = [];
  }
}

function differenceOf(
  key: RowKey,
  former: string | undefined,
  value: string | undefined,
  version: number,
): RowDifference | undefined {
  if (former === value) return undefined;
  if (former === undefined) return { kind: 'added', key, value: must(value), version };
  if (value === undefined) return { kind: 'removed', key, value: former, version };
  return { kind: 'changed', key, value, version };
}
