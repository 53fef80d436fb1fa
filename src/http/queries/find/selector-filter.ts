/** Selectors as filters of changes (docs/http/changes.md#filters-of-changes). */
import { DatabaseError, isDatabaseError } from '../../../base/errors/database-error.ts';
import type { JsonObject } from '../../../base/json/objects.ts';
import { TimeSlice } from '../../../base/shared/turn.ts';
import type { Finder } from '../../../queries/find/contract.ts';
import type { DeferredFilters } from '../../database/change-filters.ts';
import { documentFilter } from '../../database/document-filter.ts';

export type SelectorFilters = Pick<DeferredFilters, 'bySelector'>;

/** Changes have one error for all requests that are not understood. */
function testOf(finder: Finder, selector: JsonObject): ReturnType<Finder['test']> {
  try {
    return finder.test(selector);
  } catch (failure) {
    if (!isDatabaseError(failure, 'bad_request')) throw failure;
    throw new DatabaseError('bad_request', failure.reason, { cause: failure });
  }
}

export function selectorFilters(finder: Finder): SelectorFilters {
  return {
    bySelector: (selector, allLeaves) => {
      const passes = testOf(finder, selector);
      return documentFilter((documents) => passEach(documents, passes), allLeaves);
    },
  };
}

async function passEach(documents: readonly string[], passes: ReturnType<Finder['test']>): Promise<readonly boolean[]> {
  const flags: boolean[] = [];
  const timeSlice = new TimeSlice();
  for (const document of documents) {
    const flag = passes(document);
    flags.push(typeof flag === 'boolean' ? flag : await flag);
    if (timeSlice.isDue) await timeSlice.rest();
  }
  return flags;
}
