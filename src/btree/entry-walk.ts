import { must } from '../shared/assert.ts';
import type { KeyRange, TreeEntry, TreeSpec, WalkOptions } from './contract.ts';
import { Cursor } from './cursor.ts';
import { decodeLineKey, lineValue } from './leaf.ts';
import type { Link } from './link.ts';
import type { NodeSource } from './node-source.ts';
import { type LineRange, Span } from './span.ts';

/** The entries of a range in batches of at most one leaf, never empty ones. */
export async function* walkEntries<K, R>(
  spec: TreeSpec<K, R>,
  source: NodeSource<K, R>,
  root: Link<K, R>,
  range: KeyRange<K>,
  { descending = false, skip = 0 }: WalkOptions,
): AsyncGenerator<TreeEntry<K>[]> {
  const span = new Span(spec, range, descending);
  const cursor = new Cursor(spec, source, descending);
  let toSkip = skip;
  const passSkipped = (link: Link<K, R>): boolean => {
    if (link.count > toSkip) return false;
    toSkip -= link.count;
    return true;
  };
  let leaf = await cursor.seek(root, span.near);
  let found = span.firstLines(leaf.lines);
  for (;;) {
    const available = found.to - found.from;
    if (available > toSkip) yield toEntries(spec, leaf.lines, found, toSkip, descending);
    toSkip = Math.max(0, toSkip - available);
    if (span.endsBefore(cursor.far)) return;
    const next = await cursor.advance(toSkip > 0 ? passSkipped : undefined);
    if (next === undefined) return;
    leaf = next;
    found = span.laterLines(leaf.lines, cursor.far);
  }
}

function toEntries<K>(
  spec: TreeSpec<K, unknown>,
  lines: readonly string[],
  { from, to }: LineRange,
  skip: number,
  descending: boolean,
): TreeEntry<K>[] {
  const entries: TreeEntry<K>[] = [];
  if (descending) for (let index = to - 1 - skip; index >= from; index -= 1) entries.push(toEntry(spec, lines[index]));
  else for (let index = from + skip; index < to; index += 1) entries.push(toEntry(spec, lines[index]));
  return entries;
}

export function toEntry<K>(spec: TreeSpec<K, unknown>, line: string | undefined): TreeEntry<K> {
  const known = must(line);
  return { key: decodeLineKey(spec, known), value: lineValue(known) };
}
