/** What keys do while the list has the focus. */
import type { KeyHelp } from '../components/key-help.ts';
import type { Selecting } from './use-selection.ts';

export interface KeyboardMoves {
  readonly count: number;
  /** Rows in sight. */
  readonly perPage: number;
  readonly active: number;
  readonly open: (index: number) => void;
  readonly deleteSelected: () => void;
  readonly hasSelection: boolean;
}

export const LIST_KEYS: readonly KeyHelp[] = [
  { keys: '↑ ↓', does: 'the row before, the next one' },
  { keys: 'Page ↑, Page ↓', does: 'a screen up or down' },
  { keys: 'Home, End', does: 'the first row, the last one' },
  { keys: 'Space', does: 'select the document, or not' },
  { keys: 'Shift+↑, Shift+↓', does: 'select a range' },
  { keys: 'Ctrl+A', does: 'select all that match' },
  { keys: 'Esc', does: 'select none' },
  { keys: 'Enter', does: 'open the document' },
  { keys: 'Delete', does: 'review the deletion of what is selected' },
];

export function listKey(event: KeyboardEvent, moves: KeyboardMoves, selecting: Selecting): void {
  if (event.target !== event.currentTarget || event.altKey) return;
  if (actOn(event, moves, selecting)) event.preventDefault();
}

/** Returns whether the key means something here. */
function actOn(event: KeyboardEvent, moves: KeyboardMoves, selecting: Selecting): boolean {
  const { key, shiftKey } = event;
  if (event.ctrlKey || event.metaKey) {
    if (key.toLowerCase() !== 'a') return false;
    selecting.selectAll();
    return true;
  }
  const target = targetOf(key, moves);
  if (target !== undefined) {
    selecting.moveTo(Math.max(0, Math.min(moves.count - 1, target)), shiftKey);
    return true;
  }
  if (key === ' ' && shiftKey) selecting.moveTo(moves.active, true);
  else if (key === ' ') selecting.toggle(moves.active);
  else if (key === 'Enter') moves.open(moves.active);
  else if (key === 'Escape' && moves.hasSelection) selecting.selectNone();
  else if (key === 'Delete' && moves.hasSelection) moves.deleteSelected();
  else return false;
  return true;
}

function targetOf(key: string, { active, perPage, count }: KeyboardMoves): number | undefined {
  const targets: Readonly<Record<string, number>> = {
    ArrowDown: active + 1,
    ArrowUp: active - 1,
    PageDown: active + perPage,
    PageUp: active - perPage,
    Home: 0,
    End: count - 1,
  };
  return targets[key];
}
