import { TimeSlice } from '../../../base/shared/turn.ts';
import type { ReplacedNode } from '../../../storage/btree/contract.ts';
import type { Tree } from '../../../storage/btree/tree.ts';
import type { ViewSettings } from '../settings.ts';
import type { IndexState, ViewTree } from '../trees/index-state.ts';
import type { IndexFile } from './index-file.ts';

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
