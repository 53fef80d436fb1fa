/** Reads the places of an index where listed values are, without the rows between them. */
import type { CompareKeys } from '../../../base/collation/key-order.ts';
import { isObject } from '../../../base/json/objects.ts';
import { parseInTurns } from '../../../base/json/parse-in-steps.ts';
import { must } from '../../../base/shared/assert.ts';
import { sortInSteps } from '../../../base/shared/sort-in-steps.ts';
import { filterInSteps, runCooperatively } from '../../../base/shared/turn.ts';
import type { ViewRange, ViewReader, ViewRow } from '../../views/contract.ts';
import { AFTER_ALL, type IndexPlan, type ListedColumn } from '../planning/plan.ts';

/** Below and above all values. */
const [LOWEST, HIGHEST]: readonly unknown[] = [null, AFTER_ALL];

/** Yields the rows of the plan's range that may have a listed value, and some next to them. `rest`: where the range begins after a bookmark. */
export async function* lookUp(
  plan: IndexPlan & { readonly listed: ListedColumn },
  index: ViewReader,
  compare: CompareKeys,
  rest: ViewRange,
): AsyncGenerator<readonly ViewRow[], void, void> {
  const { listed, range, descending, stored } = plan;
  const places = await Places.of(listed, compare, descending);
  const prefix = Array.isArray(range.start) ? range.start.slice(0, listed.column) : [];
  const startAt = (place: unknown) => ({ start: [...prefix, place, ...(descending ? [AFTER_ALL] : [])] });
  const begin = columnOf(rest.start ?? range.start, listed.column) ?? (descending ? HIGHEST : LOWEST);
  const first = places.next(begin);
  let start: ViewRange | undefined = rest.start === undefined ? first && startAt(first.value) : rest;
  while (start !== undefined) {
    const { rows } = await index.rows(stored.index.name, { ...range, ...start });
    start = undefined;
    for await (const batch of rows) {
      yield batch;
      const value = columnOf(await parseInTurns(must(batch.at(-1)).keyText), listed.column);
      const place = places.next(value);
      // There may be more of them in the next batch.
      if (place !== undefined && compare(place.value, value) === 0) continue;
      if (place !== undefined) start = startAt(place.value);
      break;
    }
  }
}

function columnOf(key: unknown, column: number): unknown {
  return Array.isArray(key) ? key[column] : undefined;
}

/** Where listed values may be in the order of reading. */
class Places {
  readonly #values: readonly unknown[];
  readonly #hasArrays: boolean;
  readonly #compare: CompareKeys;
  readonly #descending: boolean;

  private constructor(values: readonly unknown[], hasArrays: boolean, compare: CompareKeys, descending: boolean) {
    this.#values = values;
    this.#hasArrays = hasArrays;
    this.#compare = compare;
    this.#descending = descending;
  }

  static async of({ values, inArrays }: ListedColumn, compare: CompareKeys, descending: boolean): Promise<Places> {
    // Arrays are a separate place if one of their elements may be listed.
    const single = inArrays ? await runCooperatively(filterInSteps(values, (value) => !Array.isArray(value))) : values;
    const inOrder: CompareKeys = descending ? (left, right) => compare(right, left) : compare;
    return new Places(await runCooperatively(sortInSteps(single, inOrder)), inArrays, inOrder, descending);
  }

  /** Returns the first place at or after a value; undefined if there is none. */
  next(value: unknown): { readonly value: unknown } | undefined {
    if (this.#hasArrays && Array.isArray(value)) return { value };
    let [low, high] = [0, this.#values.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compare(this.#values[middle], value) < 0) low = middle + 1;
      else high = middle;
    }
    const found = low < this.#values.length ? { value: this.#values[low] } : undefined;
    return this.#hasArrays && this.#areArraysBetween(value, found) ? { value: this.#descending ? {} : [] } : found;
  }

  #areArraysBetween(value: unknown, found: { readonly value: unknown } | undefined): boolean {
    // Of all kinds of values only objects sort after arrays.
    if (this.#descending) return isObject(value) && !(found !== undefined && isObject(found.value));
    return !isObject(value) && (found === undefined || isObject(found.value));
  }
}
