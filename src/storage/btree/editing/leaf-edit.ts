import { assert, must } from '../../../base/shared/assert.ts';
import type { TreeChange, TreeSpec } from '../contract.ts';
import type { KeyShare } from '../nodes/inner.ts';
import { FIRST_LINE, type Leaf } from '../nodes/leaf.ts';

/** The lines of a leaf after some changes, which may be too many for one leaf, or none. */
export interface EditedLines<K> {
  /** Each chunk has one or more whole lines without the last line end. */
  readonly chunks: readonly string[];
  /** The keys of new lines that are too long to share a leaf, by the indexes of their chunks. */
  readonly longLines: ReadonlyMap<number, K>;
  /** How many entries were added (negative: removed). */
  readonly added: number;
  /** Length of all lines, each with its line end. */
  readonly bytes: number;
  /** Whether the last change added a key above all former ones, or set the last one. */
  readonly isExtended: boolean;
  /** Removed values, and those that were added. */
  readonly formerValues: readonly string[];
  readonly newValues: readonly string[];
}

/**
 * Applies sorted changes to a leaf's lines; returns undefined if they change nothing. Reads no more lines than it must.
 * `longLine`: the length from which a line gets its own leaf.
 */
export function editLeaf<K>(
  spec: TreeSpec<K, unknown>,
  leaf: Leaf,
  changes: readonly TreeChange<K>[],
  { from, to }: KeyShare,
  longLine: number,
): EditedLines<K> | undefined {
  const chunks: string[] = [];
  const longLines = new Map<number, K>();
  const formerValues: string[] = [];
  const newValues: string[] = [];
  const { end } = leaf;
  let [taken, bytes] = [FIRST_LINE, leaf.entryBytes];
  for (let index = from; index < to; index += 1) {
    const { key, value } = must(changes[index]);
    const found = taken < end ? leaf.search(spec, key, taken) : ~end;
    const isKnown = found >= 0;
    const start = isKnown ? found : ~found;
    const formerValue = isKnown ? leaf.valueAt(start) : undefined;
    if (value === formerValue) continue;
    if (start > taken) chunks.push(leaf.linesBetween(taken, start));
    taken = start;
    if (formerValue !== undefined) {
      taken = leaf.lineEnd(start) + 1;
      bytes -= taken - start;
      formerValues.push(formerValue);
    }
    if (value === undefined) continue;
    const line = toLine(spec, key, value);
    if (line.length > longLine) longLines.set(chunks.length, key);
    chunks.push(line);
    newValues.push(value);
    bytes += line.length + 1;
  }
  if (formerValues.length + newValues.length === 0) return undefined;
  const isExtended = taken === end && must(changes[to - 1]).value !== undefined;
  if (taken < end) chunks.push(leaf.linesBetween(taken, end));
  const added = newValues.length - formerValues.length;
  return { chunks, longLines, added, bytes, isExtended, formerValues, newValues };
}

/** Makes a line. A line end would split an entry in two, so it must not get in. */
function toLine<K>(spec: TreeSpec<K, unknown>, key: K, value: string): string {
  const keyText = spec.encodeKey(key);
  assert(!keyText.includes('\t'), 'the text of a tree key must not hold a tab');
  // Checks both parts: searching the joined line would flatten it, which holds the thread if the value is long.
  assert(!keyText.includes('\n') && !value.includes('\n'), 'a tree entry must not hold a line end');
  return `${keyText}\t${value}`;
}
