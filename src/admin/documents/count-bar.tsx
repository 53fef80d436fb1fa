import { useEffect, useRef, useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { formatCount, formatMany } from '../components/format.ts';
import { type Filter, nounOf } from './filter.ts';
import type { List } from './use-list.ts';
import { countAll, walk } from './walk.ts';

interface CountBarProps {
  readonly filter: Filter;
  readonly list: List;
  /** Undefined: nobody has counted yet. */
  readonly counted: number | undefined;
  readonly onCounted: (count: number | undefined) => void;
}

/** Rows of a page while counting. */
const PER_PAGE = 1_000;

/** How many documents match. Where the server does not know, the page can count them: a page at a time, and none of them is kept. */
export function CountBar({ filter, list, counted, onCounted }: CountBarProps) {
  const { soFar, failure, begin, stop } = useCounting(list, onCounted);
  const { total = counted, count, isLoaded } = list;
  if (!isLoaded) return <span class="muted">…</span>;
  if (total !== undefined)
    return <span class="muted">{sentence(filter, formatMany(total, nounOf(filter)), total)}</span>;
  return (
    <span class="count-bar">
      <span class="muted" role="status">
        {soFar === undefined
          ? sentence(filter, `At least ${formatMany(Math.max(count, 0), nounOf(filter))}`, count)
          : `Counting: ${formatCount(soFar)} so far …`}
      </span>
      {soFar === undefined ? (
        <button type="button" onClick={begin}>
          Count exactly
        </button>
      ) : (
        <button type="button" onClick={stop}>
          Stop counting
        </button>
      )}
      <ErrorNote failure={failure} retry={begin} />
    </span>
  );
}

function sentence({ kind }: Filter, documents: string, count: number): string {
  if (kind === 'all' || kind === 'deleted') return documents;
  return `${documents} ${count === 1 ? 'matches' : 'match'}`;
}

function useCounting({ source }: List, onCounted: (count: number | undefined) => void) {
  const [soFar, setSoFar] = useState<number | undefined>(undefined);
  const [failure, setFailure] = useState<unknown>(undefined);
  const controller = useRef<AbortController | undefined>(undefined);
  const stop = () => controller.current?.abort();
  useEffect(() => stop, [source]);
  const begin = async () => {
    controller.current = new AbortController();
    const { signal } = controller.current;
    setFailure(undefined);
    setSoFar(0);
    try {
      const pages = walk((cursor) => source.read({ limit: PER_PAGE, withDocs: false, cursor }, signal), signal);
      onCounted(await countAll(pages, setSoFar));
    } catch (error) {
      if (!signal.aborted) setFailure(error);
    }
    setSoFar(undefined);
  };
  return { soFar, failure, begin: () => void begin(), stop };
}
