/** Selectors as filters of changes (docs/http.md#filters-of-changes). */
import type { Finder } from '../../find/contract.ts';
import type { DeferredFilters } from '../changes/change-filters.ts';
import { documentFilter } from '../changes/document-filter.ts';

export type SelectorFilters = Pick<DeferredFilters, 'bySelector'>;

export function selectorFilters(finder: Finder): SelectorFilters {
  return {
    bySelector: (selector, allLeaves) => {
      const passes = finder.test(selector);
      return documentFilter((documents) => documents.map((text) => passes(JSON.parse(text))), allLeaves);
    },
  };
}
