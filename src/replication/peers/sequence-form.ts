import { hasLoneSurrogate } from '../../base/json/portable-values.ts';
import type { Sequence } from '../contract.ts';

/** A cluster's sequence names each of its parts, and may have some kilobytes. */
const LONGEST = 65_536;
const MOST_ELEMENTS = 1_000;
const DEEPEST = 4;

/** Whether the value is a sequence that can be stored, and sent back to its database unchanged. */
export function isSequence(value: unknown): value is Sequence {
  return !isNothing(value) && isStorable(value, DEEPEST);
}

function isNothing(value: unknown): boolean {
  return value === null || typeof value === 'boolean';
}

function isStorable(value: unknown, deepest: number): boolean {
  if (typeof value === 'string') return value.length <= LONGEST && !hasLoneSurrogate(value);
  if (typeof value === 'number') return Number.isFinite(value);
  if (isNothing(value)) return true;
  if (!Array.isArray(value) || deepest === 0 || value.length > MOST_ELEMENTS) return false;
  return value.every((one) => isStorable(one, deepest - 1));
}
