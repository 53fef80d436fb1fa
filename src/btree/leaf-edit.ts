import { assert, must } from '../shared/assert.ts';
import type { TreeChange, TreeSpec } from './contract.ts';
import type { Leaf } from './leaf.ts';
import type { KeyShare } from './lookup.ts';

/** The lines of a leaf after some changes, which may be too many for one leaf, or none. */
export interface EditedLines {
  /** Each of one or more whole lines without the last line end. */
  readonly chunks: readonly string[];
  readonly count: number;
  /** Length of all lines, each with its line end. */
  readonly bytes: number;
  /** Whether the last change added a key above all former ones, or set the last one. */
  readonly isExtended: boolean;
}

/** Works sorted changes into a leaf's lines; undefined where they change nothing. */
export function editLeaf<K>(
  spec: TreeSpec<K, unknown>,
  leaf: Leaf,
  changes: readonly TreeChange<K>[],
  { from, to }: KeyShare,
): EditedLines | undefined {
  const chunks: string[] = [];
  const { length } = leaf;
  let [taken, count, bytes, isChanged] = [0, length, leaf.entryBytes, false];
  for (let index = from; index < to; index += 1) {
    const { key, value } = must(changes[index]);
    const place = taken < length ? leaf.countBefore(spec, key, false, taken) : taken;
    const isKnown = leaf.hasKeyAt(spec, place, key);
    if (value === undefined ? !isKnown : isKnown && leaf.value(place) === value) continue;
    isChanged = true;
    if (place > taken) chunks.push(leaf.lines(taken, place));
    taken = place;
    if (isKnown) {
      taken += 1;
      count -= 1;
      bytes -= leaf.lineSize(place);
    }
    if (value === undefined) continue;
    const line = toLine(spec, key, value);
    chunks.push(line);
    count += 1;
    bytes += line.length + 1;
  }
  if (!isChanged) return undefined;
  const isExtended = taken === length && must(changes[to - 1]).value !== undefined;
  if (taken < length) chunks.push(leaf.lines(taken, length));
  return { chunks, count, bytes, isExtended };
}

/** A line end would make two entries of one, so it must not get in. */
function toLine<K>(spec: TreeSpec<K, unknown>, key: K, value: string): string {
  const keyText = spec.encodeKey(key);
  assert(!keyText.includes('\t'), 'the text of a tree key must not hold a tab');
  const line = `${keyText}\t${value}`;
  assert(!line.includes('\n'), 'a tree entry must not hold a line end');
  return line;
}
