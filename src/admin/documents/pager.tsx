import { useState } from 'preact/hooks';
import { formatCount } from '../components/format.ts';
import { Icon } from '../components/icon.tsx';
import type { List } from './use-list.ts';

interface PagerProps {
  readonly list: List;
  /** The rows in sight, the end excluded. */
  readonly seen: { readonly from: number; readonly to: number };
  /** Shows the row as the first one. */
  readonly onShow: (index: number) => void;
}

/** Which rows are in sight, and the way to others by their numbers. */
export function Pager({ list, seen, onShow }: PagerProps) {
  const [typed, setTyped] = useState('');
  if (list.count === 0) return null;
  // The last row of a screen is the first one of the next, for it may be cut.
  const perScreen = Math.max(1, seen.to - seen.from - 1);
  const show = (index: number) => onShow(Math.max(0, Math.min(list.count - 1, index)));
  const submit = (event: Event) => {
    event.preventDefault();
    const number = Number(typed.replaceAll(',', ''));
    if (Number.isInteger(number) && number > 0) show(number - 1);
    setTyped('');
  };
  return (
    <form class="pager" aria-label="Rows" onSubmit={submit}>
      <span class="muted">
        Rows {formatCount(seen.from + 1)}–{formatCount(Math.max(seen.to, seen.from + 1))}
      </span>
      <button
        type="button"
        class="quiet"
        aria-label="Rows before"
        disabled={seen.from === 0}
        onClick={() => show(seen.from - perScreen)}
      >
        <Icon name="left" />
      </button>
      <button
        type="button"
        class="quiet"
        aria-label="Next rows"
        disabled={seen.to >= list.count}
        onClick={() => show(seen.from + perScreen)}
      >
        <Icon name="right" />
      </button>
      <input
        inputMode="numeric"
        enterkeyhint="go"
        autocomplete="off"
        aria-label="Go to row"
        placeholder="Row"
        size={Math.max(4, formatCount(list.count).length)}
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
    </form>
  );
}
