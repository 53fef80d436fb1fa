import { must } from '../shared/assert.ts';
import type { KeyRange, TreeSpec } from './contract.ts';
import { decodeLineKey } from './leaf.ts';

/** A place between keys: just before `key`, or just after it. */
export interface KeyEdge<K> {
  readonly key: K;
  readonly after: boolean;
}

/** Where a range begins; undefined where it is open. */
export function startEdge<K>({ start, startInclusive }: KeyRange<K>): KeyEdge<K> | undefined {
  return start === undefined ? undefined : { key: start, after: startInclusive === false };
}

/** Where a range ends; undefined where it is open. */
export function endEdge<K>({ end, endInclusive }: KeyRange<K>): KeyEdge<K> | undefined {
  return end === undefined ? undefined : { key: end, after: endInclusive !== false };
}

/** How many of a leaf's lines have keys before the edge. `from` is a number of lines of which that is known. */
export function linesBefore<K>(
  spec: TreeSpec<K, unknown>,
  lines: readonly string[],
  key: K,
  after: boolean,
  from = 0,
): number {
  let low = from;
  let high = lines.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const order = spec.compare(decodeLineKey(spec, must(lines[middle])), key);
    if (order < 0 || (after && order === 0)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The line of this key, or undefined. */
export function findLine<K>(spec: TreeSpec<K, unknown>, lines: readonly string[], key: K): string | undefined {
  return lineAt(spec, lines, linesBefore(spec, lines, key, false), key);
}

/** The line at this place if it is the key's. */
export function lineAt<K>(
  spec: TreeSpec<K, unknown>,
  lines: readonly string[],
  place: number,
  key: K,
): string | undefined {
  const line = lines[place];
  return line !== undefined && spec.compare(decodeLineKey(spec, line), key) === 0 ? line : undefined;
}
