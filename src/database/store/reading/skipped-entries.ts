import { must } from '../../../base/shared/assert.ts';
import type { KeyRange } from '../../../storage/btree/contract.ts';
import type { RowRange } from '../contract.ts';
import type { State } from '../state/state.ts';

/**
 * Returns how many entries of by-id, deleted documents among them, must be skipped to skip `range.skip` live ones.
 * Uses binary search: O(log² n).
 */
export async function entriesToSkip(state: State, range: RowRange): Promise<number> {
  const { skip = 0 } = range;
  if (skip === 0 || state.docDelCount === 0) return skip;
  let low = skip;
  let high = skip + state.docDelCount;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((await liveAmongFirst(state, range, middle)) >= skip) high = middle;
    else low = middle + 1;
  }
  return low;
}

async function liveAmongFirst({ byId }: State, range: RowRange, count: number): Promise<number> {
  const { start, end, startInclusive, endInclusive, descending = false } = range;
  let part: KeyRange<string> = { start, end, startInclusive, endInclusive };
  for await (const [entry] of byId.entries(part, { descending, skip: count })) {
    const edge = must(entry).key;
    part = descending ? { ...part, start: edge, startInclusive: false } : { ...part, end: edge, endInclusive: false };
    break;
  }
  return (await byId.reduceRange(part))?.live ?? 0;
}
