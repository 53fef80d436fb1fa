/** The names of all databases, or of a range of them (docs/http/server.md#list-of-databases). */
import { isEmptyRange, toRowRange } from '../documents/lists/key-range.ts';
import { type ListParameters, readListQuery } from '../documents/lists/list-parameters.ts';
import type { Answer, Context } from '../request/context.ts';
import { jsonAnswer } from '../response/responses.ts';

export async function getAllDatabases(context: Context): Promise<Answer> {
  const names = namesOf(context.services.registry.names(), await readListQuery(context));
  return jsonAnswer(context, 200, JSON.stringify(names));
}

/** Returns the names in the requested range. `names` ascend; they are ASCII, so JavaScript's order is that of their bytes. */
export function namesOf(names: readonly string[], parameters: ListParameters): readonly string[] {
  const range = toRowRange(parameters);
  if (isEmptyRange(range)) return [];
  const { start, end, startInclusive, endInclusive } = range;
  const found = names.filter((name) => {
    const isBehindStart = start === undefined || name > start || (startInclusive !== false && name === start);
    return isBehindStart && (end === undefined || name < end || (endInclusive !== false && name === end));
  });
  const { descending, skip, limit } = parameters;
  return (descending ? found.toReversed() : found).slice(skip, limit === undefined ? undefined : skip + limit);
}
