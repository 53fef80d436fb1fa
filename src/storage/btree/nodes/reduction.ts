import { assert, must } from '../../../base/shared/assert.ts';
import type { TreeSpec } from '../contract.ts';
import type { Link, Slots } from './inner.ts';
import { Leaf, LeafEntries } from './leaf.ts';

/**
 * Reductions of links and of parts of nodes. Computed on first use and cached in the link, as a value and, for
 * storing it, as text. Never reads a node: a node that is not in memory is stored, and the parent has its reduction.
 */
export function reductionOf<K, R>(spec: TreeSpec<K, R>, link: Link<K, R>): R {
  if (link.reduction === undefined) {
    link.reduction =
      link.reductionText === undefined ? reduceNode(spec, link) : decodeReduction(spec, link.reductionText);
  }
  return link.reduction;
}

export function reductionTextOf<K, R>(spec: TreeSpec<K, R>, link: Link<K, R>): string {
  link.reductionText ??= encodeReduction(spec, reductionOf(spec, link));
  return link.reductionText;
}

export function encodeReduction<K, R>(spec: TreeSpec<K, R>, reduction: R): string {
  const text: unknown = spec.encodeReduction?.(reduction) ?? JSON.stringify(reduction);
  assert(
    typeof text === 'string' && !text.includes('\n') && !text.includes('\t'),
    'a reduction must have a text without tabs and line ends',
  );
  return text;
}

function decodeReduction<K, R>(spec: TreeSpec<K, R>, text: string): R {
  return spec.decodeReduction === undefined ? JSON.parse(text) : spec.decodeReduction(text);
}

function reduceNode<K, R>(spec: TreeSpec<K, R>, link: Link<K, R>): R {
  const node = must(link.node);
  if (node instanceof Leaf) return reduceEntries(spec, node, 0, node.length);
  return combine(spec, slotReductions(spec, node.slots));
}

/** Returns the reductions of all slots. Makes no links: there may be hundreds. */
export function slotReductions<K, R>(spec: TreeSpec<K, R>, slots: Slots<K, R>): R[] {
  const parts: R[] = [];
  for (let index = 0; index < slots.length; index += 1) {
    const link = slots.knownLink(index);
    parts.push(link === undefined ? decodeReduction(spec, slots.reductionText(index)) : reductionOf(spec, link));
  }
  return parts;
}

/** Reduces the entries of a leaf from `from` up to `to`. */
export function reduceEntries<K, R>(spec: TreeSpec<K, R>, leaf: Leaf, from: number, to: number): R {
  return spec.reduce(new LeafEntries(spec, leaf, from, to));
}

/** Combines one or more reductions, in key order, into one. */
export function combine<K, R>(spec: TreeSpec<K, R>, parts: readonly R[]): R {
  const [first] = parts;
  return parts.length === 1 && first !== undefined ? first : spec.rereduce(parts);
}
