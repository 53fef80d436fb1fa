import { useEffect, useState } from 'preact/hooks';
import { formatCount } from '../components/format.ts';
import { Icon } from '../components/icon.tsx';
import { type List, PAGE } from './use-list.ts';

interface PagerProps {
  readonly list: List;
  /** The rows in sight, the end excluded. */
  readonly seen: { readonly from: number; readonly to: number };
  /** Shows the row as the first one. */
  readonly onShow: (index: number) => void;
}

/** Which rows are in sight, and the way to others by the number of their page. */
export function Pager({ list, seen, onShow }: PagerProps) {
  const page = Math.floor(seen.from / PAGE) + 1;
  const pages = Math.max(1, Math.ceil(list.count / PAGE));
  const [typed, setTyped] = useState<string | undefined>(undefined);
  useEffect(() => setTyped(undefined), [page]);
  if (list.count === 0) return null;
  const show = (number: number) => onShow(Math.max(0, Math.min(pages, number) - 1) * PAGE);
  const submit = (event: Event) => {
    event.preventDefault();
    const number = Number(typed ?? page);
    if (Number.isInteger(number) && number > 0) show(number);
    setTyped(undefined);
  };
  return (
    <form class="pager" aria-label="Pages" onSubmit={submit}>
      <span class="muted">
        Rows {formatCount(seen.from + 1)}–{formatCount(Math.max(seen.to, seen.from + 1))}
      </span>
      <button type="button" class="quiet" aria-label="Page before" disabled={page <= 1} onClick={() => show(page - 1)}>
        <Icon name="left" />
      </button>
      <label>
        Page{' '}
        <input
          inputMode="numeric"
          enterkeyhint="go"
          autocomplete="off"
          aria-label="Page"
          size={Math.max(2, `${pages}`.length)}
          value={typed ?? `${page}`}
          onInput={(event) => setTyped(event.currentTarget.value)}
          onBlur={() => setTyped(undefined)}
        />{' '}
        of {list.hasMore && 'at least '}
        {formatCount(pages)}
      </label>
      <button
        type="button"
        class="quiet"
        aria-label="Next page"
        disabled={page >= pages}
        onClick={() => show(page + 1)}
      >
        <Icon name="right" />
      </button>
    </form>
  );
}
