import type { ReplacedNode } from '../contract.ts';
import { corruptNode } from './corrupt-node.ts';

/** Where a node is stored, apart from its link so that a list of replaced nodes keeps no node in memory. */
interface NodePlace extends ReplacedNode {
  page: number | undefined;
}

/**
 * The way from a parent (or a root) to a node, and what the parent knows of it. Links are shared by all trees that hold
 * the node. Everything about a link is fixed, except for what makes no difference to anyone who reads through it: that
 * the node was stored, and that a reduction was worked out. `N` is what nodes are (`TreeNode`), left open so that this file
 * needs to know nothing of them.
 */
export class NodeLink<N, R> {
  readonly place: NodePlace;
  /** Entries below. */
  readonly count: number;
  /** Length of their lines. */
  readonly bytes: number;
  /** Whether it was read from its parent's text, whose line then says all there is to say. */
  readonly isParsed: boolean;
  /** The node itself as long as it is not stored. */
  node: N | undefined;
  reduction: R | undefined;
  reductionText: string | undefined;

  private constructor(
    place: NodePlace,
    sums: { readonly count: number; readonly bytes: number },
    node: N | undefined,
    reductionText: string | undefined,
  ) {
    this.place = place;
    this.count = sums.count;
    this.bytes = sums.bytes;
    this.isParsed = node === undefined;
    this.node = node;
    this.reduction = undefined;
    this.reductionText = reductionText;
  }

  /** To a node that was just made. */
  static toNew<N, R>(node: N, count: number, bytes: number): NodeLink<N, R> {
    return new NodeLink<N, R>({ page: undefined }, { count, bytes }, node, undefined);
  }

  static toPage<N, R>(page: number, count: number, bytes: number, reductionText: string | undefined): NodeLink<N, R> {
    return new NodeLink<N, R>({ page }, { count, bytes }, undefined, reductionText);
  }

  /** Reads a line `key TAB page TAB count TAB bytes TAB reduction`. */
  static parse<N, R>(line: string): NodeLink<N, R> {
    const pageAt = line.indexOf('\t') + 1;
    const countAt = line.indexOf('\t', pageAt) + 1;
    const bytesAt = line.indexOf('\t', countAt) + 1;
    const reductionAt = line.indexOf('\t', bytesAt) + 1;
    const page = Number(line.slice(pageAt, countAt - 1));
    const count = Number(line.slice(countAt, bytesAt - 1));
    const bytes = Number(line.slice(bytesAt, reductionAt - 1));
    const isWhole = pageAt > 0 && countAt > pageAt && bytesAt > countAt && reductionAt > bytesAt;
    if (!(isWhole && Number.isSafeInteger(page) && Number.isSafeInteger(count) && Number.isSafeInteger(bytes))) {
      throw corruptNode('a line of an inner node lacks some of its parts', line);
    }
    return NodeLink.toPage(page, count, bytes, line.slice(reductionAt));
  }

  get page(): number | undefined {
    return this.place.page;
  }
}
