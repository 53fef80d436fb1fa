import type { CompareKeys } from '../../../base/collation/key-order.ts';
import type { RowKey } from '../trees/row-key.ts';

/**
 * Decides which keys are in one group of a reduced query (docs/http/views.md#reduced-views): all (level 0), those whose
 * first n elements are equal (keys that are not arrays count as a whole), or those that are equal.
 */
export class GroupCut {
  readonly #level: number | 'exact';
  readonly #compareKeys: CompareKeys;

  constructor(level: number | 'exact', compareKeys: CompareKeys) {
    this.#level = level;
    this.#compareKeys = compareKeys;
  }

  /** Returns whether all rows are one group. */
  get isWhole(): boolean {
    return this.#level === 0;
  }

  isSame(left: unknown, right: unknown): boolean {
    return this.#compareKeys(this.#cut(left), this.#cut(right)) === 0;
  }

  /** Returns the JSON text of the key of the group that a row is in. */
  textOf(row: RowKey): string {
    const { value } = row;
    const cut = this.#cut(value);
    return cut === value ? row.keyText : JSON.stringify(cut);
  }

  #cut(key: unknown): unknown {
    const level = this.#level;
    return level !== 'exact' && Array.isArray(key) && key.length > level ? key.slice(0, level) : key;
  }
}
