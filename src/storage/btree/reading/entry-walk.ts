import { TimeSlice } from '../../../base/shared/turn.ts';
import type { KeyRange, TreeEntry, TreeSpec, WalkOptions } from '../contract.ts';
import type { Link } from '../nodes/inner.ts';
import type { Leaf } from '../nodes/leaf.ts';
import type { NodeSource } from '../nodes/node-source.ts';
import { Cursor, type EntryRange, Span } from './cursor.ts';

/** Yields the entries of a range in batches of at most one leaf, never empty ones. Other work may run between leaves. */
export async function* walkEntries<K, R>(
  source: NodeSource<K, R>,
  root: Link<K, R>,
  range: KeyRange<K>,
  { descending = false, skip = 0 }: WalkOptions,
): AsyncGenerator<TreeEntry<K>[]> {
  const { spec } = source;
  const span = new Span(spec, range, descending);
  const cursor = new Cursor(source, descending);
  const timeSlice = new TimeSlice();
  let toSkip = skip;
  const passSkipped = (link: Link<K, R>): boolean => {
    if (link.count > toSkip) return false;
    toSkip -= link.count;
    return true;
  };
  let leaf = await cursor.seek(root, span.near);
  let found = span.firstEntries(leaf);
  for (;;) {
    const available = found.to - found.from;
    if (available > toSkip) yield toEntries(spec, leaf, found, { skip: toSkip, descending });
    toSkip = Math.max(0, toSkip - available);
    if (span.endsBefore(cursor.far)) return;
    if (timeSlice.isDue) await timeSlice.rest();
    const next = await cursor.advance(toSkip > 0 ? passSkipped : undefined);
    if (next === undefined) return;
    leaf = next;
    found = span.laterEntries(leaf, cursor.far);
  }
}

function toEntries<K>(
  spec: TreeSpec<K, unknown>,
  leaf: Leaf,
  { from, to }: EntryRange,
  { skip, descending }: { readonly skip: number; readonly descending: boolean },
): TreeEntry<K>[] {
  const entries: TreeEntry<K>[] = [];
  if (descending) for (let index = to - 1 - skip; index >= from; index -= 1) entries.push(toEntry(spec, leaf, index));
  else for (let index = from + skip; index < to; index += 1) entries.push(toEntry(spec, leaf, index));
  return entries;
}

export function toEntry<K>(spec: TreeSpec<K, unknown>, leaf: Leaf, index: number): TreeEntry<K> {
  return { key: leaf.key(index, spec), value: leaf.value(index) };
}
