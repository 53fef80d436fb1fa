import { useEffect, useRef, useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { formatCount, formatMany } from '../components/format.ts';
import { type Filter, nounsOf } from './row-sources/filter.ts';
import type { Search } from './row-sources/row-source.ts';
import { countAll, walk } from './row-sources/walk.ts';
import type { List } from './use-list.ts';

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
  const { total = counted, count, isLoaded, search } = list;
  if (!isLoaded) return <span class="muted">…</span>;
  if (total !== undefined) return <span class="muted">{sentence(filter, total)}</span>;
  if (search !== undefined && soFar === undefined) {
    return <SearchProgress text={`${sentence(filter, count)} so far:`} search={search} />;
  }
  return (
    <span class="count-bar">
      {soFar?.search === undefined ? (
        <span class="muted" role="status">
          {soFar === undefined
            ? sentence(filter, count, 'At least ')
            : `Counting: ${formatCount(soFar.count)} so far …`}
        </span>
      ) : (
        <SearchProgress text={`Counting: ${formatCount(soFar.count)} so far,`} search={soFar.search} />
      )}
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

/** How much of the database was looked at. */
function SearchProgress({ text, search: { looked, of } }: { readonly text: string; readonly search: Search }) {
  const documents = of === undefined ? formatMany(looked, 'document') : `${formatCount(looked)} of ${formatCount(of)}`;
  return (
    <span class="count-bar">
      <span class="muted">
        {text} {documents} looked at …
      </span>
      {of !== undefined && <progress aria-label="Documents looked at" max={Math.max(1, of)} value={looked} />}
    </span>
  );
}

function sentence(filter: Filter, count: number, before = ''): string {
  const documents = `${before}${formatMany(count, ...nounsOf(filter))}`;
  if (['all', 'deleted', 'conflicts'].includes(filter.kind)) return documents;
  return `${documents} ${count === 1 ? 'matches' : 'match'}`;
}

interface Counted {
  readonly count: number;
  /** Of a list whose rows are searched for. */
  readonly search: Search | undefined;
}

function useCounting({ source }: List, onCounted: (count: number | undefined) => void) {
  const [soFar, setSoFar] = useState<Counted | undefined>(undefined);
  const [failure, setFailure] = useState<unknown>(undefined);
  const controller = useRef<AbortController | undefined>(undefined);
  const stop = () => controller.current?.abort();
  useEffect(() => stop, [source]);
  const begin = async () => {
    controller.current = new AbortController();
    const { signal } = controller.current;
    setFailure(undefined);
    setSoFar({ count: 0, search: undefined });
    let before = 0;
    const read = (cursor: string | undefined) =>
      source.read({ limit: PER_PAGE, withDocs: false, cursor }, signal, (rows, search) => {
        if (!signal.aborted) setSoFar({ count: before + rows.length, search });
      });
    try {
      const count = await countAll(walk(read, signal), (sum) => {
        before = sum;
        setSoFar((former) => ({ count: sum, search: former?.search }));
      });
      onCounted(count);
    } catch (error) {
      if (!signal.aborted) setFailure(error);
    }
    setSoFar(undefined);
  };
  return { soFar, failure, begin: () => void begin(), stop };
}
