/** Only the server that made a sequence understands it. This checks and compares sequences as far as possible without that knowledge. */

import { hasLoneSurrogate } from '../../base/json/portable-values.ts';
import type { Sequence } from '../contract.ts';

export function isSameSequence(one: Sequence, other: Sequence): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

/** Returns the number that a sequence is, or begins with: in every server of the family it grows with the database. */
function numberOf(sequence: Sequence): number | undefined {
  const first: unknown = Array.isArray(sequence) ? sequence[0] : sequence;
  if (typeof first === 'number') return first;
  const [digits] = /^\d+(?=-|$)/.exec(String(first)) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

/** Returns the earlier of the two; undefined if that is unknown. */
export function earlierSequence(one: Sequence, other: Sequence): Sequence | undefined {
  if (isSameSequence(one, other)) return one;
  const first = numberOf(one);
  const second = numberOf(other);
  if (first === undefined || second === undefined) return undefined;
  return first <= second ? one : other;
}

/** Whether a database at `reached` can't have issued `sequence`. */
export function isBeyond(sequence: Sequence, reached: Sequence): boolean {
  const first = numberOf(sequence);
  const second = numberOf(reached);
  return first !== undefined && second !== undefined && first > second;
}

/** A cluster's sequence names each of its parts, and may have some kilobytes. */
const MAX_LENGTH = 65_536;
const MAX_ELEMENTS = 1_000;
const DEEPEST = 4;

/** Whether the value is a sequence that can be stored, and sent back to its database unchanged. */
export function isSequence(value: unknown): value is Sequence {
  return !isNothing(value) && isStorable(value, DEEPEST);
}

function isNothing(value: unknown): boolean {
  return value === null || typeof value === 'boolean';
}

function isStorable(value: unknown, deepest: number): boolean {
  if (typeof value === 'string') return value.length <= MAX_LENGTH && !hasLoneSurrogate(value);
  if (typeof value === 'number') return Number.isFinite(value);
  if (isNothing(value)) return true;
  if (!Array.isArray(value) || deepest === 0 || value.length > MAX_ELEMENTS) return false;
  return value.every((one) => isStorable(one, deepest - 1));
}
