/** A list of any length that renders only the rows in sight. */
import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

interface VirtualListProps {
  readonly count: number;
  /** Pixels; all rows have the same height. */
  readonly rowHeight: number;
  readonly label: string;
  readonly row: (index: number) => ComponentChildren;
  /** Called with the range of rows in sight, the end excluded, whenever it changes. */
  readonly onRange?: (from: number, to: number) => void;
  /** Scrolls to the row whenever this object changes. */
  readonly goTo?: { readonly index: number } | undefined;
}

/** Browsers can't place elements beyond some 16 million pixels. A longer list moves by more than a pixel for each pixel of the scroll bar. */
const MOST_PIXELS = 8_000_000;
/** Rows rendered above and below those in sight. */
const SPARE_ROWS = 8;

export function VirtualList({ count, rowHeight, label, row, onRange, goTo }: VirtualListProps) {
  const element = useRef<HTMLElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const full = count * rowHeight;
  const height = Math.min(full, MOST_PIXELS);
  const most = Math.max(1, height - view.height);
  // From pixels of the scroll bar to pixels of the list.
  const scale = full > height ? (full - view.height) / most : 1;
  const first = Math.max(0, Math.floor((view.top * scale) / rowHeight));
  const visible = Math.ceil(view.height / rowHeight) + 1;
  const from = Math.max(0, first - SPARE_ROWS);
  const to = Math.min(count, first + visible + SPARE_ROWS);

  useLayoutEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    const measure = () => setView({ top: current.scrollTop, height: current.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    measure();
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => onRange?.(from, to), [from, to, onRange]);
  useLayoutEffect(() => {
    if (goTo !== undefined) element.current?.scrollTo({ top: (goTo.index * rowHeight) / scale });
  }, [goTo]);

  const rows: JSX.Element[] = [];
  for (let index = from; index < to; index += 1) {
    const offset = (index - first) * rowHeight;
    rows.push(
      <li class="virtual-row" key={index} style={{ transform: `translateY(${offset}px)`, height: `${rowHeight}px` }}>
        {row(index)}
      </li>,
    );
  }
  // Where the first row in sight begins: exact while the list is not scaled, at a row's beginning when it is.
  const origin = scale === 1 ? first * rowHeight : view.top;
  return (
    <section
      ref={element}
      class="virtual-list"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard
      tabIndex={0}
      onScroll={({ currentTarget }) => setView({ top: currentTarget.scrollTop, height: currentTarget.clientHeight })}
    >
      <div class="virtual-extent" style={{ height: `${height}px` }}>
        <ul style={{ transform: `translateY(${origin}px)` }}>{rows}</ul>
      </div>
    </section>
  );
}
