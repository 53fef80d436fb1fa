/**
 * The range of ids that a list's keys describe. Ids are strings; among keys of all types strings sort above null, booleans
 * and numbers, and below lists and objects (docs/http/bulk.md#list-of-all-documents), so a bound of another type either is open or matches
 * nothing.
 */
import type { RowRange } from '../../../database/store/contract.ts';
import type { ListParameters } from './list-parameters.ts';

/** No row lies between the bounds, and the walk would begin before or after all rows. */
export interface EmptyRange {
  readonly beginsBehindAll: boolean;
}

export function toRowRange(parameters: ListParameters): RowRange | EmptyRange {
  const { descending, skip, inclusiveEnd, isOneKey } = parameters;
  const { startKey = parameters.startKeyDocId, endKey = parameters.endKeyDocId } = parameters;
  const start = boundOf(startKey);
  const end = boundOf(endKey);
  const [lower, upper]: readonly [Bound, Bound] = descending ? [end, start] : [start, end];
  if (lower === ABOVE || upper === BELOW) {
    return { beginsBehindAll: descending ? start === BELOW : start === ABOVE };
  }
  const endInclusive = inclusiveEnd || isOneKey;
  return {
    start: textOf(lower),
    end: textOf(upper),
    startInclusive: descending ? endInclusive : true,
    endInclusive: descending ? true : endInclusive,
    descending,
    skip,
  };
}

export function isEmptyRange(range: RowRange | EmptyRange): range is EmptyRange {
  return 'beginsBehindAll' in range;
}

/** All strings sort above, or below. */
const BELOW = Symbol('below');
const ABOVE = Symbol('above');

type Bound = string | undefined | typeof BELOW | typeof ABOVE;

function boundOf(key: unknown): Bound {
  if (key === undefined || typeof key === 'string') return key;
  return typeof key === 'object' && key !== null ? ABOVE : BELOW;
}

function textOf(bound: Bound): string | undefined {
  return typeof bound === 'string' ? bound : undefined;
}
