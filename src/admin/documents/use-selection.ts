/** Selecting rows by mouse, touch and keyboard: one by one, ranges with Shift, and all that match. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { formatCount } from '../components/format.ts';
import type { ListSettings } from './list-state.ts';
import { walk } from './row-sources/walk.ts';
import { ALL, isSelected, NONE, toggled, withIds } from './selection.ts';
import type { List } from './use-list.ts';

/** Rows of a range that are not loaded are read, as many at a time. */
const PER_PAGE = 1_000;
/** Rows of a range. To select more, there is “all that match”. */
const MAX_ROWS = 100_000;

export interface Selecting {
  /** Moves to the row; `extend`: selects all from where the range began. */
  readonly moveTo: (index: number, extend: boolean) => void;
  readonly toggle: (index: number) => void;
  readonly selectAll: () => void;
  readonly selectNone: () => void;
  /** A range is being read. */
  readonly isReading: boolean;
  readonly failure: unknown;
}

export function useSelection({ selection, place, marked }: ListSettings, list: List): Selecting {
  const [isReading, setReading] = useState(false);
  const [failure, setFailure] = useState<unknown>(undefined);
  const controller = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => controller.current?.abort(), [list.source]);
  const extendTo = async (index: number) => {
    controller.current?.abort();
    controller.current = new AbortController();
    const { signal } = controller.current;
    const { anchor, base } = place.value;
    const [from, to] = [Math.min(anchor, index), Math.max(anchor, index) + 1];
    place.value = { ...place.value, active: index };
    setFailure(undefined);
    const known = loadedIds(list, from, to);
    try {
      setReading(known === undefined);
      const ids = known ?? (await readIds(list, from, to, signal));
      if (!signal.aborted) selection.value = withIds(base, ids, true);
    } catch (error) {
      if (!signal.aborted) setFailure(error);
    }
    if (!signal.aborted) setReading(false);
  };
  const toggle = (index: number) => {
    const row = list.rowAt(index);
    if (row === undefined) return;
    marked.value = undefined;
    selection.value = toggled(selection.value, row.id);
    place.value = { active: index, anchor: index, base: selection.value };
  };
  const moveTo = (index: number, extend: boolean) => {
    marked.value = undefined;
    if (extend) void extendTo(index);
    else place.value = { active: index, anchor: index, base: selection.value };
  };
  const setAll = (next: typeof ALL) => {
    selection.value = next;
    place.value = { ...place.value, base: next };
  };
  return { moveTo, toggle, selectAll: () => setAll(ALL), selectNone: () => setAll(NONE), isReading, failure };
}

/** Undefined if one of the rows is not loaded. */
function loadedIds({ rowAt }: List, from: number, to: number): readonly string[] | undefined {
  if (to - from > PER_PAGE) return undefined;
  const ids: string[] = [];
  for (let index = from; index < to; index += 1) {
    const row = rowAt(index);
    if (row === undefined) return undefined;
    ids.push(row.id);
  }
  return ids;
}

async function readIds({ source }: List, from: number, to: number, signal: AbortSignal): Promise<readonly string[]> {
  if (to - from > MAX_ROWS) {
    throw new Error(
      `A range has at most ${formatCount(MAX_ROWS)} documents. For more, choose a filter, and then all that match.`,
    );
  }
  // The page at the beginning is read by its number where that is possible; the others follow it.
  const begin = source.isRandom ? from : 0;
  const read = (cursor: string | undefined) =>
    source.read({ limit: PER_PAGE, withDocs: false, ...(cursor === undefined ? { skip: begin } : { cursor }) }, signal);
  const ids: string[] = [];
  let at = begin;
  for await (const rows of walk(read, signal)) {
    for (const { id } of rows) {
      if (at >= from && at < to) ids.push(id);
      at += 1;
    }
    if (at >= to) break;
  }
  return ids;
}

/** Whether the row is selected; false while it is not loaded. */
export function isRowSelected({ selection }: ListSettings, list: List, index: number): boolean {
  const row = list.rowAt(index);
  return row !== undefined && isSelected(selection.value, row.id);
}
