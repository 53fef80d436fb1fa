import { isObject } from '../../../base/json/objects.ts';
import { type CooperativeTask, mapInSteps } from '../../../base/shared/turn.ts';
import { excerpt, queryError } from '../query-error.ts';
import { parseFieldPath } from '../selectors/field-path.ts';

export interface SortField {
  /** A path, as it is written. */
  readonly field: string;
  readonly direction: 'asc' | 'desc';
}

/** The limit applies to indexes as well. */
const MOST_FIELDS = 1_000;

/**
 * Reads a list such as `["a", {"b": "asc"}]`, the form of a query's `sort` and an index's `fields`. All fields have the same
 * direction. Fails with
 * 400 `invalid_sort_json`, `invalid_sort_field`, `invalid_sort_dir`, `unsupported_mixed_sort`, `invalid_field_name`.
 */
export function* parseSort(value: unknown): CooperativeTask<readonly SortField[]> {
  if (!Array.isArray(value)) {
    throw queryError('invalid_sort_json', `Sort must be an array of sort specs, not: ${excerpt(value)}`);
  }
  if (value.length > MOST_FIELDS) {
    const reason = `A sort has ${MOST_FIELDS} fields at most, and so has an index; this one has ${value.length}. Name those that decide.`;
    throw queryError('invalid_sort_json', reason);
  }
  const fields = yield* mapInSteps(value, parseSortField);
  const [first] = fields;
  if (fields.some(({ direction }) => direction !== first?.direction)) {
    const reason = 'Sorts currently only support a single direction for all fields.';
    throw queryError('unsupported_mixed_sort', reason);
  }
  return fields;
}

function parseSortField(item: unknown): SortField {
  if (typeof item === 'string') return { field: checkedField(item), direction: 'asc' };
  const [entry, other] = isObject(item) ? Object.entries(item) : [];
  if (entry === undefined || other !== undefined) {
    throw queryError('invalid_sort_field', `Invalid sort field: ${excerpt(item)}. Give a name, or {"name": "asc"}.`);
  }
  const [field, direction] = entry;
  if (direction !== 'asc' && direction !== 'desc') {
    throw queryError('invalid_sort_dir', `Invalid sort direction: ${excerpt(direction)}. There are "asc" and "desc".`);
  }
  return { field: checkedField(field), direction };
}

function checkedField(field: string): string {
  return parseFieldPath(field).text;
}
