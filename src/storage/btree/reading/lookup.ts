import { must } from '../../../base/shared/assert.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import { type CooperativeTask, ready } from '../../../base/shared/turn.ts';
import type { TreeSpec } from '../contract.ts';
import { type KeyShare, type Link, shareOut, type TreeNode } from '../nodes/inner.ts';
import { FIRST_LINE, Leaf } from '../nodes/leaf.ts';
import type { NodeSource } from '../nodes/node-source.ts';
import type { KeyEdge } from './cursor.ts';

/** The result of a look-up without waiting: the value, or the certainty that there is none. */
export interface Hit {
  readonly hit: true;
  readonly value: string | undefined;
}

/** Looks a key up below `link` in memory alone; returns undefined if a node on the way is not there. */
export function peekValue<K, R>(source: NodeSource<K, R>, link: Link<K, R>, key: K): Hit | undefined {
  let node = source.peek(link);
  while (node !== undefined && !(node instanceof Leaf)) {
    node = source.peek(node.slots.link(node.slotOf(key, source.spec)));
  }
  if (node === undefined) return undefined;
  return { hit: true, value: node.find(source.spec, key) };
}

/** Returns the value, immediately if every node on the way is available. */
export function readValue<K, R>(source: NodeSource<K, R>, link: Link<K, R>, key: K): MaybePromise<string | undefined> {
  let node = source.resolve(link);
  for (;;) {
    if (node instanceof Promise) return node.then((late) => readBelow(source, late, key));
    if (node instanceof Leaf) return node.find(source.spec, key);
    node = source.resolve(node.slots.link(node.slotOf(key, source.spec)));
  }
}

function readBelow<K, R>(source: NodeSource<K, R>, node: TreeNode<K, R>, key: K): MaybePromise<string | undefined> {
  if (node instanceof Leaf) return node.find(source.spec, key);
  return readValue(source, node.slots.link(node.slotOf(key, source.spec)), key);
}

/** Returns how many entries below `link` have keys before the edge. */
export async function rankOf<K, R>(source: NodeSource<K, R>, link: Link<K, R>, edge: KeyEdge<K>): Promise<number> {
  let rank = 0;
  let node = source.peek(link) ?? (await source.resolve(link));
  while (!(node instanceof Leaf)) {
    const index = node.slotOf(edge.key, source.spec);
    rank += node.countBefore(index);
    const next = node.slots.link(index);
    node = source.peek(next) ?? (await source.resolve(next));
  }
  return rank + node.countBefore(source.spec, edge.key, edge.after);
}

/** Maximum number of keys looked up in one leaf in one step, … */
const KEYS_AT_ONCE = 1_024;
/** … of nodes read together: storage that returns them synchronously holds the thread meanwhile, … */
const NODES_AT_ONCE = 128;
/** … and of bytes in such nodes with few entries, since an entry may have any size, … */
const LARGE_BYTES_AT_ONCE = 4 * 2 ** 20;
/** … namely at most this many. */
const FEW_ENTRIES = 4;

interface NodeShare<K, R> extends KeyShare {
  readonly link: Link<K, R>;
}

/**
 * Returns the values of ascending keys, level by level, so that each node is visited once and a level's reads run together. Other work runs between
 * nodes. Undefined as soon as the values have more than `mostUnits` together.
 */
export function* readValues<K, R>(
  source: NodeSource<K, R>,
  root: Link<K, R>,
  keys: readonly K[],
  mostUnits: number,
): CooperativeTask<(string | undefined)[] | undefined> {
  const { spec } = source;
  const values = keys.map((): string | undefined => undefined);
  let units = 0;
  let level: NodeShare<K, R>[] = [{ link: root, from: 0, to: keys.length }];
  while (level.length > 0) {
    const below: NodeShare<K, R>[] = [];
    for (const shares of readTogether(level)) {
      const resolved = source.resolveAll(shares.map((share) => share.link));
      const nodes = resolved instanceof Promise ? yield* ready(resolved) : resolved;
      for (const [at, share] of shares.entries()) {
        yield;
        const node = must(nodes[at]);
        if (!(node instanceof Leaf)) {
          for (const { index, from, to } of shareOut(spec, node, keys, share)) {
            below.push({ link: node.slots.link(index), from, to });
          }
          continue;
        }
        for (const part of partsOf(share)) {
          units += findAll(spec, node, keys, part, values);
          if (units > mostUnits) return undefined;
          yield;
        }
      }
    }
    level = below;
  }
  return values;
}

function* readTogether<K, R>(level: readonly NodeShare<K, R>[]): Generator<readonly NodeShare<K, R>[]> {
  let from = 0;
  let largeBytes = 0;
  for (const [index, { link }] of level.entries()) {
    const bytes = link.count <= FEW_ENTRIES ? link.bytes : 0;
    if (index > from && (index - from === NODES_AT_ONCE || largeBytes + bytes > LARGE_BYTES_AT_ONCE)) {
      yield level.slice(from, index);
      from = index;
      largeBytes = 0;
    }
    largeBytes += bytes;
  }
  yield level.slice(from);
}

function* partsOf({ from: start, to: end }: KeyShare): Generator<KeyShare> {
  for (let from = start; from < end; from += KEYS_AT_ONCE) yield { from, to: Math.min(from + KEYS_AT_ONCE, end) };
}

/** Finds the values of a leaf's share of the keys; returns their length. The search for each key starts after the previous one. */
function findAll<K>(
  spec: TreeSpec<K, unknown>,
  leaf: Leaf,
  keys: readonly K[],
  { from, to }: KeyShare,
  values: (string | undefined)[],
): number {
  let place = FIRST_LINE;
  let units = 0;
  for (let index = from; index < to && place < leaf.end; index += 1) {
    const found = leaf.search(spec, must(keys[index]), place);
    if (found >= 0) {
      const value = leaf.valueAt(found);
      values[index] = value;
      units += value.length;
    }
    place = found >= 0 ? found : ~found;
  }
  return units;
}
