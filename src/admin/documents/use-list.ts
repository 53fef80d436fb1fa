/** The rows of a filter as a hook. */
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Filter } from './row-sources/filter.ts';
import { type ListState, PageCache } from './row-sources/page-cache.ts';
import type { RowSource, SourceRow } from './row-sources/row-source.ts';
import { sourceOf } from './row-sources/sources.ts';

/** Rows of a page: of ids alone, and with whole documents. */
export const PAGE = 100;
export const PAGE_WITH_DOCS = 50;

export interface List extends ListState {
  readonly source: RowSource;
  /** Undefined until its page is there. */
  readonly rowAt: (index: number) => SourceRow | undefined;
  /** Loads the rows, the end excluded. */
  readonly need: (from: number, to: number) => void;
  readonly reload: () => void;
}

export function useList(database: string, filter: Filter, withDocs: boolean): List {
  const [, setVersion] = useState(0);
  const source = useMemo(() => sourceOf(database, filter), [database, filter]);
  const cache = useMemo(() => {
    const limit = withDocs ? PAGE_WITH_DOCS : PAGE;
    return new PageCache(source, { limit, withDocs }, () => setVersion((version) => version + 1));
  }, [source, withDocs]);
  // Another layout has the same number of rows: the list need not jump to its beginning.
  const former = useRef<{ readonly source: RowSource; readonly state: ListState } | undefined>(undefined);
  useEffect(() => {
    if (cache.isIdle) cache.need(0, 1);
    return () => cache.close();
  }, [cache]);
  const need = useCallback((from: number, to: number) => cache.need(from, to), [cache]);
  const reload = useCallback(() => cache.reload(), [cache]);
  const isSame = former.current?.source === source;
  const state = cache.state.isLoaded || !isSame || former.current === undefined ? cache.state : former.current.state;
  former.current = { source, state };
  return { ...state, source, rowAt: (index) => cache.rowAt(index), need, reload };
}
