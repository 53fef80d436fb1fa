import type { KeyRange } from '../contract.ts';

/** A place between keys: just before `key`, or just after it. */
export interface KeyEdge<K> {
  readonly key: K;
  readonly after: boolean;
}

/** Returns where a range begins; undefined if it is open. */
export function startEdge<K>({ start, startInclusive }: KeyRange<K>): KeyEdge<K> | undefined {
  return start === undefined ? undefined : { key: start, after: startInclusive === false };
}

/** Returns where a range ends; undefined if it is open. */
export function endEdge<K>({ end, endInclusive }: KeyRange<K>): KeyEdge<K> | undefined {
  return end === undefined ? undefined : { key: end, after: endInclusive !== false };
}
