import { DatabaseError } from '../../../base/errors/database-error.ts';
import { TimeSlice } from '../../../base/shared/turn.ts';
import type { NodeReader, ReplacedNode } from '../../../storage/btree/contract.ts';
import { treePages } from '../../../storage/btree/reading/tree-walks.ts';
import { Tree } from '../../../storage/btree/tree.ts';
import { PageCache } from '../../../storage/paging/page-cache.ts';
import { treeSizes } from '../../../storage/paging/slices.ts';
import type { ViewSettings } from '../settings.ts';
import { documentSpec, type IndexState, type ViewTree } from '../trees/index-state.ts';
import { createRowSpec } from '../trees/row-tree.ts';
import type { TreeOrder } from '../trees/tree-order.ts';
import type { IndexFile } from './index-file.ts';
import type { IndexHead, IndexRoots } from './index-head.ts';

interface IndexTreeSettings {
  /** Absent for an index that is in memory only. */
  readonly file: Pick<IndexFile, 'reader' | 'cache'> | undefined;
  readonly orders: readonly TreeOrder[];
  readonly leafBytes: number;
}

/** Returns the state that a head and its roots describe; without a head an empty one. */
export function openIndexState(
  { file, orders, leafBytes }: IndexTreeSettings,
  head: IndexHead | undefined,
  roots: IndexRoots | undefined,
): IndexState {
  const options = {
    reader: file?.reader ?? noReader,
    cache: file?.cache ?? new PageCache(0),
    sizes: treeSizes(leafBytes),
  };
  return {
    version: 0,
    byDocument: Tree.open({ ...options, spec: documentSpec }, roots?.byDocument ?? null),
    trees: orders.map(({ compareKeys, reducers }, index) => ({
      rows: Tree.open({ ...options, spec: createRowSpec(compareKeys, reducers) }, roots?.trees[index]?.root ?? null),
      lastChange: roots?.trees[index]?.lastChange ?? { seq: 0, purgeSeq: 0 },
    })),
    updateSeq: head?.updateSeq ?? 0,
    purgeSeq: head?.purgeSeq ?? 0,
    seenSeq: head?.seenSeq ?? 0,
    leftOut: roots?.leftOut ?? 0,
    firstPass: roots?.firstPass,
  };
}

const noReader: NodeReader = {
  readNode: (page) => {
    throw new DatabaseError('storage_missing', `A temporary index has no page ${page}.`);
  },
};

/** Returns the stored pages of a state, as nodes that another state replaces. */
export async function pagesOf({ byDocument, trees }: IndexState): Promise<ReplacedNode[]> {
  const nodes: ReplacedNode[] = [];
  for (const batches of [treePages(byDocument), ...trees.map(({ rows }) => treePages(rows))]) {
    for await (const pages of batches) for (const page of pages) nodes.push({ page, pages: 1 });
  }
  return nodes;
}

interface CopyOptions {
  readonly file: IndexFile;
  readonly settings: ViewSettings;
  /** Throws if the work is to end. */
  check(): void;
}

interface IndexCopy {
  readonly state: IndexState;
  /** Nodes that were stored while the copy grew, and are not part of it. */
  readonly replaced: readonly ReplacedNode[];
}

/** Copies all entries of a state into new trees, whose nodes are full. `empty` has the trees to begin with. */
export async function copyIndex(from: IndexState, empty: IndexState, options: CopyOptions): Promise<IndexCopy> {
  const copy = new IndexCopier(options);
  const byDocument = await copy.copyTree(from.byDocument, empty.byDocument);
  const trees: ViewTree[] = [];
  for (const [index, { rows, lastChange }] of from.trees.entries()) {
    const target = empty.trees[index];
    if (target !== undefined) trees.push({ rows: await copy.copyTree(rows, target.rows), lastChange });
  }
  return { state: { ...from, version: from.version + 1, byDocument, trees }, replaced: copy.replaced };
}

class IndexCopier {
  readonly replaced: ReplacedNode[] = [];
  readonly #options: CopyOptions;
  readonly #timeSlice: TimeSlice;

  constructor(options: CopyOptions) {
    this.#options = options;
    this.#timeSlice = new TimeSlice(options.settings.turnMs);
  }

  async copyTree<K, R>(from: Tree<K, R>, empty: Tree<K, R>): Promise<Tree<K, R>> {
    const { settings, file, check } = this.#options;
    let copy = empty;
    for await (const entries of from.entries()) {
      check();
      const update = await copy.update(entries);
      copy = update.tree;
      for (const node of update.replaced) this.replaced.push(node);
      if (copy.unstoredBytes() >= settings.dirtyBytes) await file.storeCopy(copy, this.#timeSlice);
      if (this.#timeSlice.isDue) await this.#timeSlice.rest();
    }
    return copy;
  }
}
