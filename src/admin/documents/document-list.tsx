/** The rows of the list, to be moved in and selected with mouse, finger and keyboard. */
import type { HTMLAttributes } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { VirtualList } from '../components/virtual-list.tsx';
import { goTo } from '../page/router.ts';
import { type KeyboardMoves, listKey } from './list-keys.ts';
import type { Layout, ListSettings } from './list-state.ts';
import { type ColumnSet, HeaderCells, RowCells } from './row-cells.tsx';
import { isEmpty } from './selection.ts';
import type { List } from './use-list.ts';
import { isRowSelected, type Selecting } from './use-selection.ts';

interface DocumentListProps {
  readonly database: string;
  readonly settings: ListSettings;
  readonly list: List;
  readonly selecting: Selecting;
  readonly columns: readonly string[];
  /** The row to be first in sight. */
  readonly goTo: { readonly index: number } | undefined;
  readonly onRange: (from: number, to: number) => void;
  readonly onDelete: () => void;
}

/** Fingers need more room than a mouse. */
const coarse = matchMedia('(pointer: coarse)');

function useIsCoarse(): boolean {
  const [isCoarse, setCoarse] = useState(coarse.matches);
  useEffect(() => {
    const change = () => setCoarse(coarse.matches);
    coarse.addEventListener('change', change);
    return () => coarse.removeEventListener('change', change);
  }, []);
  return isCoarse;
}

export function rowHeightOf(layout: Layout, isCoarse: boolean): number {
  if (layout === 'json') return 188;
  return isCoarse ? 46 : 32;
}

/** Pixels of a column of the table. */
const COLUMN = 140;
const ID_COLUMN = 200;
const CHECK_COLUMN = 44;

export function DocumentList(props: DocumentListProps) {
  const { database, settings, list, selecting, columns, onRange } = props;
  const [layout, place] = [settings.layout.value, settings.place.value];
  const isCoarse = useIsCoarse();
  const rowHeight = rowHeightOf(layout, isCoarse);
  const seen = useRef({ from: 0, to: 0 });
  const count = list.count + (list.hasMore ? 1 : 0);
  const note = useCallback(
    (from: number, to: number) => {
      seen.current = { from, to };
      settings.top.value = from;
      // And the next row: keys reach only rows that are there.
      list.need(from, Math.min(to + 1, count));
      onRange(from, Math.min(to, list.count));
    },
    [list.need, list.count, count, onRange],
  );
  const near = useNear(settings.top.peek(), place.active, props.goTo);
  const set: ColumnSet = { layout, columns };
  const moves: KeyboardMoves = {
    count: list.count,
    perPage: Math.max(1, seen.current.to - seen.current.from - 1),
    active: Math.min(place.active, list.count - 1),
    open: (index) => openRow(database, list, index),
    deleteSelected: props.onDelete,
    hasSelection: !isEmpty(settings.selection.value),
  };
  const minWidth = layout === 'table' ? CHECK_COLUMN + ID_COLUMN + columns.length * COLUMN : 0;
  return (
    <VirtualList
      count={count}
      rowHeight={rowHeight}
      headerHeight={isCoarse ? 46 : 34}
      minWidth={minWidth}
      goTo={near}
      onRange={note}
      header={<HeaderCells set={set} settings={settings} selecting={selecting} />}
      attributes={{
        role: 'grid',
        'aria-label': `Documents of ${database}`,
        'aria-multiselectable': true,
        'aria-rowcount': list.hasMore ? -1 : count + 1,
        'aria-activedescendant': list.count > 0 ? rowId(moves.active) : undefined,
        tabIndex: 0,
        onKeyDown: (event) => listKey(event, moves, selecting),
      }}
      rowAttributes={(index) => rowAttributes(index, index === moves.active, props)}
      row={(index) => (
        <RowCells
          database={database}
          set={set}
          row={list.rowAt(index)}
          isSelected={isRowSelected(settings, list, index)}
          isEnd={index >= list.count}
        />
      )}
    />
  );
}

/** What to scroll to: what was in sight before, then where the user jumps, or the row with the focus when keys move it. */
function useNear(top: number, active: number, jump: { readonly index: number } | undefined) {
  const [near, setNear] = useState<{ readonly index: number; readonly isNear?: boolean }>({ index: top });
  const former = useRef({ active, jump });
  useEffect(() => {
    if (former.current.jump !== jump && jump !== undefined) setNear(jump);
    else if (former.current.active !== active) setNear({ index: active, isNear: true });
    former.current = { active, jump };
  }, [active, jump]);
  return near;
}

function clickRow(event: MouseEvent, index: number, selecting: Selecting): void {
  const target = event.target instanceof Element ? event.target : undefined;
  const link = target?.closest('a') ?? null;
  if (event.shiftKey) {
    // A browser would open a window.
    if (link !== null) event.preventDefault();
    selecting.moveTo(index, true);
  } else if (target?.closest('.row-check') != null) selecting.toggle(index);
  else if ((event.ctrlKey || event.metaKey) && link === null) selecting.toggle(index);
  else selecting.moveTo(index, false);
}

function rowAttributes(index: number, isActive: boolean, props: DocumentListProps): HTMLAttributes<HTMLDivElement> {
  const { settings, list, selecting } = props;
  return {
    role: 'row',
    id: rowId(index),
    class: isActive ? 'virtual-row active' : 'virtual-row',
    'aria-current': isMarked(settings, list, index) || undefined,
    'aria-rowindex': index + 2,
    'aria-selected': isRowSelected(settings, list, index),
    onMouseDown: (event) => event.shiftKey && event.preventDefault(),
    onClick: (event) => clickRow(event, index, selecting),
  };
}

/** Whether the user went to the row by its id. */
function isMarked({ marked }: ListSettings, list: List, index: number): boolean {
  return marked.value !== undefined && list.rowAt(index)?.id === marked.value;
}

function openRow(database: string, list: List, index: number): void {
  const row = list.rowAt(index);
  if (row !== undefined) goTo(['db', database, 'document', row.id]);
}

function rowId(index: number): string {
  return `row-${index}`;
}
