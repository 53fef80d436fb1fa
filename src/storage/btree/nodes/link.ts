import type { NodePages, ReplacedNode } from '../contract.ts';
import { corruptNode } from './corrupt-node.ts';

/** Where a node is stored, apart from its link so that a list of replaced nodes keeps no node in memory. */
interface NodePlace extends ReplacedNode {
  page: number | undefined;
  pages: number;
}

/** Separates the first page from the number of pages, if a node has more than one. */
const MORE_PAGES = '+';

/**
 * The link from a parent (or a root) to a node, and what the parent knows of it. Links are shared by all trees that hold
 * the node. Everything about a link is fixed, except for what makes no difference to readers: that
 * the node was stored, and that a reduction was computed. `N` is the type of nodes (`TreeNode`), left open so that this file
 * needs to know nothing of them.
 */
export class NodeLink<N, R> {
  readonly place: NodePlace;
  /** Number of entries below. */
  readonly count: number;
  /** Length of their lines. */
  readonly bytes: number;
  /** Whether it was read from its parent's text, whose line then has all there is to know. */
  readonly isParsed: boolean;
  /** The node itself until it is stored. */
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

  /** Makes a link to a new node. */
  static toNew<N, R>(node: N, count: number, bytes: number): NodeLink<N, R> {
    return new NodeLink<N, R>({ page: undefined, pages: 1 }, { count, bytes }, node, undefined);
  }

  static toStored<N, R>(
    { page, pages }: NodePages,
    sums: { readonly count: number; readonly bytes: number },
    reductionText: string | undefined,
  ): NodeLink<N, R> {
    return new NodeLink<N, R>({ page, pages }, sums, undefined, reductionText);
  }

  /** Reads a line `key TAB pages TAB count TAB bytes TAB reduction`. */
  static parse<N, R>(line: string): NodeLink<N, R> {
    const pageAt = line.indexOf('\t') + 1;
    const countAt = line.indexOf('\t', pageAt) + 1;
    const bytesAt = line.indexOf('\t', countAt) + 1;
    const reductionAt = line.indexOf('\t', bytesAt) + 1;
    const place = parsePages(line.slice(pageAt, countAt - 1));
    const count = Number(line.slice(countAt, bytesAt - 1));
    const bytes = Number(line.slice(bytesAt, reductionAt - 1));
    const isWhole = pageAt > 0 && countAt > pageAt && bytesAt > countAt && reductionAt > bytesAt;
    if (!(isWhole && place !== undefined && Number.isSafeInteger(count) && Number.isSafeInteger(bytes))) {
      throw corruptNode('a line of an inner node lacks some of its parts', line);
    }
    return NodeLink.toStored(place, { count, bytes }, line.slice(reductionAt));
  }

  get page(): number | undefined {
    return this.place.page;
  }
}

/** Returns the pages of a stored node as text: the number of the first and, if there are more, `+` and their number. */
export function encodePages({ page, pages }: NodePages): string {
  return pages === 1 ? `${page}` : `${page}${MORE_PAGES}${pages}`;
}

function parsePages(text: string): NodePages | undefined {
  const page = Number(text);
  if (Number.isSafeInteger(page)) return { page, pages: 1 };
  const [first = '', count = ''] = text.split(MORE_PAGES, 2);
  const run = { page: Number(first), pages: Number(count) };
  return Number.isSafeInteger(run.page) && Number.isSafeInteger(run.pages) && run.pages > 1 ? run : undefined;
}
