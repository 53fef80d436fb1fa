import type { FindQuery } from '../queries/find-query.ts';
import type { Conditions } from './conditions.ts';

const MOST_SORTED = 100;

/** An index that would help a query, as `_index` takes it. */
export interface IndexSuggestion {
  readonly fields: readonly string[];
}

/**
 * Suggests the fields with a single value, then those of the sort, then one that has a range. If there is none of them, it
 * suggests a field that every found document has, because its index has fewer documents, and conditions can be tested on
 * its keys. Undefined if the selector has no conditions, if reading the documents by id is enough, or if the sort is too long.
 */
export function suggestIndex({ sort }: FindQuery, conditions: Conditions): IndexSuggestion | undefined {
  const indexable = conditions.indexable().filter((field) => field !== '_id');
  const equal = indexable.filter((field) => conditions.isConstant(field));
  // No one makes an index of hundreds of fields, and a response that named them would be as long as the query.
  if (sort.length > MOST_SORTED) return undefined;
  const sorted = sort.map(({ field }) => field);
  const ranged = sorted.length > 0 ? [] : indexable.filter((field) => !conditions.isConstant(field)).slice(0, 1);
  const isById = sorted.every((field) => field === '_id');
  const inOrder = new Set(sorted);
  const fields = [...equal.filter((field) => !inOrder.has(field)), ...(isById ? [] : sorted), ...ranged];
  if (fields.length > 0) return { fields };
  const required = [...conditions.required].find((field) => field !== '_id' && field !== '_rev');
  return required === undefined ? undefined : { fields: [required] };
}
