import { assert, must } from '../shared/assert.ts';
import type { TreeChange, TreeSpec } from './contract.ts';
import { lineAt, linesBefore } from './key-edge.ts';

/** The lines of a leaf after some changes, which may be too many or none. */
export interface EditedLines {
  readonly lines: readonly string[];
  /** By how much their text grew. */
  readonly growth: number;
  /** Whether keys above all former ones were added. */
  readonly isExtended: boolean;
}

/** Works the sorted changes from `from` up to `to` into a leaf's lines; undefined where they change nothing. */
export function editLines<K>(
  spec: TreeSpec<K, unknown>,
  lines: readonly string[],
  changes: readonly TreeChange<K>[],
  from: number,
  to: number,
): EditedLines | undefined {
  const edited: string[] = [];
  let taken = 0;
  let growth = 0;
  let isChanged = false;
  for (let index = from; index < to; index += 1) {
    const { key, value } = must(changes[index]);
    const place = taken < lines.length ? linesBefore(spec, lines, key, false, taken) : taken;
    appendLines(edited, lines, taken, place);
    const former = lineAt(spec, lines, place, key);
    taken = former === undefined ? place : place + 1;
    const line = value === undefined ? undefined : toLine(spec, key, value);
    if (line !== undefined) edited.push(line);
    if (line === former) continue;
    isChanged = true;
    growth += textLength(line) - textLength(former);
  }
  if (!isChanged) return undefined;
  const isExtended = taken >= lines.length && must(changes[to - 1]).value !== undefined;
  appendLines(edited, lines, taken, lines.length);
  return { lines: edited, growth, isExtended };
}

function appendLines(edited: string[], lines: readonly string[], from: number, to: number): void {
  for (let index = from; index < to; index += 1) edited.push(must(lines[index]));
}

/** A newline would make two entries of one, so it must not get in. */
function toLine<K>(spec: TreeSpec<K, unknown>, key: K, value: string): string {
  const keyText = spec.encodeKey(key);
  assert(!keyText.includes('\t'), 'the text of a tree key must not hold a tab');
  const line = `${keyText}\t${value}`;
  assert(!line.includes('\n'), 'a tree entry must not hold a line end');
  return line;
}

function textLength(line: string | undefined): number {
  return line === undefined ? 0 : line.length + 1;
}
