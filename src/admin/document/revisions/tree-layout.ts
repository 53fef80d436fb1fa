/**
 * Where the revisions of a tree are drawn: one below the other, what replaces above what is replaced, the winner at the top. A branch is one
 * lane to the right of where it begins, and between that revision and the one above it.
 */

/** A leaf and what it replaced, the newest first. */
interface Branch {
  readonly revs: readonly string[];
}

export interface TreeRow {
  /** One revision; or several in a row, the newest first, that are folded. */
  readonly revs: readonly string[];
  /** From 0. */
  readonly lane: number;
  /** The row of the revision that it replaces; undefined: nothing is known of it. */
  readonly parent: number | undefined;
  readonly isLeaf: boolean;
}

interface Node {
  readonly rev: string;
  readonly parent: Node | undefined;
  readonly children: Node[];
}

/** Successive revisions that are folded into one row. */
const MIN_FOLDED = 4;

/** `branches`: the winner's first. `shown`: revisions that are not folded, besides those where something begins or ends. */
export function treeRows(branches: readonly Branch[], shown: ReadonlySet<string>): readonly TreeRow[] {
  const nodes = nodesOf(branches);
  const leaves = leafCounts(branches, nodes);
  const winners = new Set(branches[0]?.revs);
  const placed: { readonly node: Node; readonly lane: number }[] = [];
  const place = (root: Node, lane: number): void => {
    const chain = chainFrom(root, leaves, winners);
    for (const [at, node] of chain.entries()) {
      for (const side of node.children) if (side !== chain[at - 1]) place(side, lane + 1);
      placed.push({ node, lane });
    }
  };
  for (const node of nodes.values()) if (node.parent === undefined) place(node, 0);
  return folded(placed, shown);
}

function nodesOf(branches: readonly Branch[]): ReadonlyMap<string, Node> {
  const nodes = new Map<string, Node>();
  for (const { revs } of branches) {
    let parent: Node | undefined;
    for (const rev of [...revs].reverse()) {
      const known = nodes.get(rev);
      const node = known ?? { rev, parent, children: [] };
      if (known === undefined) {
        nodes.set(rev, node);
        parent?.children.push(node);
      }
      parent = node;
    }
  }
  return nodes;
}

/** How many branches go through each revision. */
function leafCounts(branches: readonly Branch[], nodes: ReadonlyMap<string, Node>): ReadonlyMap<Node, number> {
  const counts = new Map<Node, number>();
  for (const { revs } of branches)
    for (const rev of revs) {
      const node = nodes.get(rev);
      if (node !== undefined) counts.set(node, (counts.get(node) ?? 0) + 1);
    }
  return counts;
}

/** From the leaf down to `root`: the winner's ancestors, or else those of the most leaves. */
function chainFrom(root: Node, leaves: ReadonlyMap<Node, number>, winners: ReadonlySet<string>): readonly Node[] {
  const chain = [root];
  for (;;) {
    const next = chain.at(-1)?.children.reduce<Node | undefined>((best, child) => {
      if (best === undefined || winners.has(child.rev)) return child;
      return !winners.has(best.rev) && (leaves.get(child) ?? 0) > (leaves.get(best) ?? 0) ? child : best;
    }, undefined);
    if (next === undefined) return chain.reverse();
    chain.push(next);
  }
}

/** Nothing begins or ends here. */
function isPlain({ children: [child, ...others], parent }: Node): boolean {
  return child !== undefined && others.length === 0 && child.children.length > 0 && parent !== undefined;
}

function folded(
  placed: readonly { readonly node: Node; readonly lane: number }[],
  shown: ReadonlySet<string>,
): readonly TreeRow[] {
  const groups: { readonly nodes: Node[]; readonly lane: number; readonly isPlain: boolean }[] = [];
  for (const { node, lane } of placed) {
    const last = groups.at(-1);
    const canFold = isPlain(node) && !shown.has(node.rev);
    if (canFold && last?.isPlain === true && last.nodes.at(-1)?.parent === node) last.nodes.push(node);
    else groups.push({ nodes: [node], lane, isPlain: canFold });
  }
  const rows = groups.flatMap(({ nodes, lane }) =>
    nodes.length >= MIN_FOLDED ? [{ nodes, lane }] : nodes.map((node) => ({ nodes: [node], lane })),
  );
  const rowOf = new Map(rows.flatMap(({ nodes }, row) => nodes.map((node) => [node, row] as const)));
  return rows.map(({ nodes, lane }) => {
    const parent = nodes.at(-1)?.parent;
    return {
      revs: nodes.map(({ rev }) => rev),
      lane,
      parent: parent === undefined ? undefined : rowOf.get(parent),
      isLeaf: nodes[0]?.children.length === 0,
    };
  });
}
