import { must } from '../../../base/shared/assert.ts';
import type { TreeSpec } from '../contract.ts';
import type { Inner } from './inner.ts';

/** The keys of a sorted list that belong below one node: from index `from` up to `to`. */
export interface KeyShare {
  readonly from: number;
  readonly to: number;
}

/** The keys that belong below the slot `index` of an inner node. */
export interface SlotShare extends KeyShare {
  readonly index: number;
}

/** Divides a node's share of the sorted keys among its slots. */
export function shareOut<K, R>(
  spec: TreeSpec<K, R>,
  inner: Inner<K, R>,
  keys: readonly K[],
  { from, to }: KeyShare,
): SlotShare[] {
  const shares: SlotShare[] = [];
  let next = from;
  let index = 0;
  while (next < to) {
    const start = next;
    index = inner.slotOf(must(keys[start]), spec, index);
    next =
      index + 1 < inner.length ? keysBelow(spec, keys, inner.slots.key(index + 1, spec), { from: start + 1, to }) : to;
    shares.push({ index, from: start, to: next });
  }
  return shares;
}

/** Returns the index of the first key from `from` up to `to` that is not below `bound`; looks near `from` first. */
function keysBelow<K>(spec: TreeSpec<K, unknown>, keys: readonly K[], bound: K, { from, to }: KeyShare): number {
  let low = from;
  let high = from;
  for (let step = 1; high < to && spec.compare(must(keys[high]), bound) < 0; step *= 2) {
    low = high + 1;
    high += step;
  }
  high = Math.min(high, to);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (spec.compare(must(keys[middle]), bound) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
