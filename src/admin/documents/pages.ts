/** Loads the pages of a long list as they come into sight. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type DocumentRow, documentPage } from '../server/documents.ts';

const PAGE = 100;
/** Pages kept in memory: those seen last. */
const KEPT = 60;

export interface Pages {
  /** Documents in the database; undefined until the first page is there. */
  readonly total: number | undefined;
  /** Undefined until its page is there. */
  readonly rowAt: (index: number) => DocumentRow | undefined;
  /** Loads the rows, the end excluded. */
  readonly need: (from: number, to: number) => void;
  readonly failure: unknown;
  readonly reload: () => void;
}

export function usePages(database: string, includeDocs: boolean): Pages {
  const [total, setTotal] = useState<number | undefined>(undefined);
  const [failure, setFailure] = useState<unknown>(undefined);
  const [, setVersion] = useState(0);
  const pages = useRef(new Map<number, readonly DocumentRow[] | 'loading'>());
  const life = useRef(new AbortController());

  const load = useCallback(
    async (page: number) => {
      const { signal } = life.current;
      pages.current.set(page, 'loading');
      try {
        const found = await documentPage(database, { skip: page * PAGE, limit: PAGE, includeDocs }, signal);
        if (signal.aborted) return;
        pages.current.set(page, found.rows);
        forget(pages.current);
        setTotal(found.total);
        setFailure(undefined);
      } catch (error) {
        if (signal.aborted) return;
        pages.current.delete(page);
        setFailure(error);
      }
      setVersion((version) => version + 1);
    },
    [database, includeDocs],
  );
  const need = useCallback(
    (from: number, to: number) => {
      for (let page = Math.floor(from / PAGE); page * PAGE < to; page += 1) {
        if (!pages.current.has(page)) void load(page);
      }
    },
    [load],
  );
  const reload = useCallback(() => {
    life.current.abort();
    life.current = new AbortController();
    pages.current.clear();
    setFailure(undefined);
    void load(0);
  }, [load]);
  useEffect(() => {
    reload();
    return () => life.current.abort();
  }, [reload]);
  const rowAt = useCallback((index: number) => {
    const page = pages.current.get(Math.floor(index / PAGE));
    return page === 'loading' ? undefined : page?.[index % PAGE];
  }, []);
  return { total, rowAt, need, failure, reload };
}

/** Forgets the pages that were loaded first. */
function forget(pages: Map<number, readonly DocumentRow[] | 'loading'>): void {
  for (const page of pages.keys()) {
    if (pages.size <= KEPT) return;
    pages.delete(page);
  }
}
