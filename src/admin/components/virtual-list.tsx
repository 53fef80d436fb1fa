/** A list of any length that renders only the rows in sight. */
import type { ComponentChildren, HTMLAttributes, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import {
  barHeight,
  type Extent,
  positionAt,
  rowsInSight,
  type ScrollPosition,
  scrolledTo,
  topToShow,
} from './scroll-position.ts';

type Attributes = HTMLAttributes<HTMLDivElement>;

interface VirtualListProps {
  readonly count: number;
  /** Pixels; all rows have the same height. */
  readonly rowHeight: number;
  readonly row: (index: number) => ComponentChildren;
  /** What the list and its rows are for screen readers, and what happens to them. */
  readonly attributes: Attributes;
  readonly rowAttributes: (index: number) => Attributes;
  /** Stays above the rows, and moves sideways with them. */
  readonly header?: ComponentChildren;
  /** Pixels. Default: 0, for a list without a header. */
  readonly headerHeight?: number;
  /** Pixels. In a narrower page the list scrolls sideways. */
  readonly minWidth?: number;
  /** Called with the range of rows in sight, the end excluded, whenever it changes. */
  readonly onRange?: (from: number, to: number) => void;
  /** Scrolls whenever this object changes: the row is first in sight, or `isNear`: anywhere in sight. */
  readonly goTo?: { readonly index: number; readonly isNear?: boolean } | undefined;
}

/** Rows rendered above and below those in sight. */
const SPARE_ROWS = 8;
/** After so long without a scroll event the scrolling has ended, in browsers that don't say so. */
const SETTLED_MS = 200;

export function VirtualList(props: VirtualListProps) {
  const { count, rowHeight, row, attributes, rowAttributes, header, headerHeight = 0, minWidth } = props;
  const { element, extent, position, onScroll } = usePosition(props, headerHeight);
  const seen = rowsInSight(position.list, extent);
  const from = Math.max(0, seen.from - SPARE_ROWS);
  const to = Math.min(count, seen.to + SPARE_ROWS);
  const { onRange } = props;
  useLayoutEffect(() => onRange?.(seen.from, seen.to), [seen.from, seen.to, onRange]);
  const rows: JSX.Element[] = [];
  for (let index = from; index < to; index += 1) {
    const offset = (index - seen.from) * rowHeight;
    rows.push(
      <div
        {...rowAttributes(index)}
        key={index}
        style={{ transform: `translateY(${offset}px)`, height: `${rowHeight}px` }}
      >
        {row(index)}
      </div>,
    );
  }
  // The element is scrolled to `bar`, where the list shows what is at `list`.
  const origin = position.bar - (position.list - seen.from * rowHeight);
  return (
    <div {...attributes} ref={element} class="virtual-list" onScroll={onScroll}>
      {header !== undefined && (
        <div class="virtual-header" style={{ height: `${headerHeight}px`, minWidth }}>
          {header}
        </div>
      )}
      <div class="virtual-extent" style={{ height: `${barHeight(extent)}px`, minWidth }}>
        <div class="virtual-rows" style={{ transform: `translateY(${origin}px)` }}>
          {rows}
        </div>
      </div>
    </div>
  );
}

/** Follows the element's scroll bar. */
function usePosition({ count, rowHeight, goTo }: VirtualListProps, headerHeight: number) {
  const element = useRef<HTMLDivElement>(null);
  const [viewHeight, setViewHeight] = useState(600);
  const [position, setPosition] = useState<ScrollPosition>({ bar: 0, list: 0 });
  const extent: Extent = { count, rowHeight, viewHeight };
  const latest = useRef({ extent, position });
  latest.current.extent = extent;
  const move = (next: ScrollPosition) => {
    latest.current.position = next;
    setPosition(next);
  };
  const show = (list: number) => {
    const next = positionAt(list, latest.current.extent);
    move(next);
    element.current?.scrollTo({ top: next.bar });
  };
  useLayoutEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    const measure = () => {
      const { list } = latest.current.position;
      const isAtEnd = list > 0 && list === positionAt(Number.POSITIVE_INFINITY, latest.current.extent).list;
      latest.current.extent = { ...latest.current.extent, viewHeight: current.clientHeight - headerHeight };
      setViewHeight(current.clientHeight - headerHeight);
      // The last row stays in sight if the list becomes lower.
      if (isAtEnd) show(Number.POSITIVE_INFINITY);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    measure();
    return () => observer.disconnect();
  }, [headerHeight]);
  // A list that became shorter may end above what was in sight.
  useLayoutEffect(() => move(scrolledTo(latest.current.position, element.current?.scrollTop ?? 0, extent)), [count]);
  useLayoutEffect(() => {
    if (goTo === undefined) return;
    const { index, isNear = false } = goTo;
    const top = isNear ? topToShow(index, latest.current.position.list, latest.current.extent) : index * rowHeight;
    if (top !== undefined) show(top);
  }, [goTo]);
  // Short moves are exact, so the scroll bar of a very long list lags behind: it is put right when the scrolling has ended.
  useSettled(element, () => {
    const { bar } = positionAt(latest.current.position.list, latest.current.extent);
    if (Math.abs(bar - latest.current.position.bar) > 1) show(latest.current.position.list);
  });
  const onScroll = ({ currentTarget }: { readonly currentTarget: HTMLElement }) =>
    move(scrolledTo(latest.current.position, currentTarget.scrollTop, latest.current.extent));
  return { element, extent, position, onScroll };
}

function useSettled(element: { readonly current: HTMLElement | null }, settled: () => void): void {
  const latest = useRef(settled);
  latest.current = settled;
  useEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const end = () => latest.current();
    const wait = () => {
      clearTimeout(timer);
      timer = setTimeout(end, SETTLED_MS);
    };
    const name = 'onscrollend' in current ? 'scrollend' : 'scroll';
    const listen = name === 'scrollend' ? end : wait;
    current.addEventListener(name, listen);
    return () => {
      clearTimeout(timer);
      current.removeEventListener(name, listen);
    };
  }, []);
}
