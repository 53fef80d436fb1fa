import type { FindQuery } from '../searching/find-query.ts';
import { requiredFields } from '../selectors/selector.ts';
import type { Conditions } from './plan.ts';

/** An index that would help a query, as `_index` takes it. */
export interface IndexSuggestion {
  readonly fields: readonly string[];
}

/**
 * Fields with one value, then those of the sort, then one of which a range is asked. Where there is none of them, one that
 * has to be there: its index has fewer documents, and tests are done on its keys. Undefined where nothing is asked, and
 * where the documents' own order is enough.
 */
export function suggestIndex({ selector, sort }: FindQuery, conditions: Conditions): IndexSuggestion | undefined {
  const indexable = conditions.indexable().filter((field) => field !== '_id');
  const equal = indexable.filter((field) => conditions.isConstant(field));
  const sorted = sort.map(({ field }) => field);
  const ranged = sorted.length > 0 ? [] : indexable.filter((field) => !conditions.isConstant(field)).slice(0, 1);
  const isById = sorted.every((field) => field === '_id');
  const fields = [...equal.filter((field) => !sorted.includes(field)), ...(isById ? [] : sorted), ...ranged];
  if (fields.length > 0) return { fields };
  const required = [...requiredFields(selector)].find((field) => field !== '_id' && field !== '_rev');
  return required === undefined ? undefined : { fields: [required] };
}
