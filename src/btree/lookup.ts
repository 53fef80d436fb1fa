import { must } from '../shared/assert.ts';
import type { TreeSpec } from './contract.ts';
import type { Inner } from './inner.ts';
import { findLine, type KeyEdge, linesBefore } from './key-edge.ts';
import { Leaf, lineValue } from './leaf.ts';
import type { Link } from './link.ts';
import type { NodeSource } from './node-source.ts';

/** What a look-up without waiting gives: the value, or the sure knowledge that there is none. */
export interface Hit {
  readonly hit: true;
  readonly value: string | undefined;
}

/** Looks a key up below `link` in memory alone; undefined where a node on the way is not there. */
export function peekValue<K, R>(
  spec: TreeSpec<K, R>,
  source: NodeSource<K, R>,
  link: Link<K, R>,
  key: K,
): Hit | undefined {
  let node = source.peek(link);
  while (node !== undefined && !(node instanceof Leaf)) {
    node = source.peek(node.slots.link(node.slotOf(key, spec)));
  }
  if (node === undefined) return undefined;
  return { hit: true, value: valueIn(spec, node, key) };
}

export async function readValue<K, R>(
  spec: TreeSpec<K, R>,
  source: NodeSource<K, R>,
  link: Link<K, R>,
  key: K,
): Promise<string | undefined> {
  let node = source.peek(link) ?? (await source.resolve(link));
  while (!(node instanceof Leaf)) {
    const next = node.slots.link(node.slotOf(key, spec));
    node = source.peek(next) ?? (await source.resolve(next));
  }
  return valueIn(spec, node, key);
}

function valueIn<K>(spec: TreeSpec<K, unknown>, leaf: Leaf, key: K): string | undefined {
  const line = findLine(spec, leaf.lines, key);
  return line === undefined ? undefined : lineValue(line);
}

/** How many entries below `link` have keys before the edge. */
export async function rankOf<K, R>(
  spec: TreeSpec<K, R>,
  source: NodeSource<K, R>,
  link: Link<K, R>,
  edge: KeyEdge<K>,
): Promise<number> {
  let rank = 0;
  let node = source.peek(link) ?? (await source.resolve(link));
  while (!(node instanceof Leaf)) {
    const index = node.slotOf(edge.key, spec);
    rank += node.countBefore(index);
    const next = node.slots.link(index);
    node = source.peek(next) ?? (await source.resolve(next));
  }
  return rank + linesBefore(spec, node.lines, edge.key, edge.after);
}

/** Those of a row of sorted keys that belong below one slot of an inner node: `from` up to `to`. */
export interface SlotShare {
  readonly index: number;
  readonly from: number;
  readonly to: number;
}

/** Deals the sorted keys from `from` up to `to` out to the slots of a node. */
export function shareOut<K, R>(
  spec: TreeSpec<K, R>,
  inner: Inner<K, R>,
  keys: readonly K[],
  from: number,
  to: number,
): SlotShare[] {
  const shares: SlotShare[] = [];
  let next = from;
  let index = 0;
  while (next < to) {
    const start = next;
    index = inner.slotOf(must(keys[start]), spec, index);
    next = index + 1 < inner.length ? keysBelow(spec, keys, inner.slots.key(index + 1, spec), start + 1, to) : to;
    shares.push({ index, from: start, to: next });
  }
  return shares;
}

/** The index of the first key from `from` up to `to` that is not below `bound`; looks near `from` first. */
function keysBelow<K>(spec: TreeSpec<K, unknown>, keys: readonly K[], bound: K, from: number, to: number): number {
  let low = from;
  let high = from;
  for (let step = 1; high < to && spec.compare(must(keys[high]), bound) < 0; step *= 2) {
    low = high + 1;
    high += step;
  }
  high = Math.min(high, to);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (spec.compare(must(keys[middle]), bound) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The values of ascending keys, level by level, so that each node is visited once and a level's reads run together. */
export async function readValues<K, R>(
  spec: TreeSpec<K, R>,
  source: NodeSource<K, R>,
  root: Link<K, R>,
  keys: readonly K[],
): Promise<(string | undefined)[]> {
  const values = keys.map((): string | undefined => undefined);
  let links = [root];
  let ranges = [{ from: 0, to: keys.length }];
  while (links.length > 0) {
    const resolved = source.resolveAll(links);
    const nodes = resolved instanceof Promise ? await resolved : resolved;
    const [belowLinks, belowRanges]: [Link<K, R>[], { from: number; to: number }[]] = [[], []];
    for (let at = 0; at < nodes.length; at += 1) {
      const { from, to } = must(ranges[at]);
      const node = must(nodes[at]);
      if (node instanceof Leaf) fillValues(spec, node, keys, from, to, values);
      else {
        for (const share of shareOut(spec, node, keys, from, to)) {
          belowLinks.push(node.slots.link(share.index));
          belowRanges.push(share);
        }
      }
    }
    [links, ranges] = [belowLinks, belowRanges];
  }
  return values;
}

function fillValues<K>(
  spec: TreeSpec<K, unknown>,
  leaf: Leaf,
  keys: readonly K[],
  from: number,
  to: number,
  values: (string | undefined)[],
): void {
  for (let index = from; index < to; index += 1) values[index] = valueIn(spec, leaf, must(keys[index]));
}
