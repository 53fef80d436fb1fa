import { type MaybePromise, whenReady } from '../../../base/shared/maybe-promise.ts';
import { type CooperativeTask, ready } from '../../../base/shared/turn.ts';
import type { ReplacedNode, TreeChange } from '../../../storage/btree/contract.ts';
import type { Tree } from '../../../storage/btree/tree.ts';
import type { State } from './state.ts';
import { decodeSpace, encodeSpace } from './trees.ts';

/** A state made from another one, and the tree nodes that are no longer part of it. */
export interface NextState {
  readonly state: State;
  readonly replaced: readonly ReplacedNode[];
}

/** Updates several trees, and collects what all of the updates replaced. */
export class TreeUpdates {
  readonly replaced: ReplacedNode[] = [];

  /** Applies the changes: at once if no node has to be waited for, and it does not take long. */
  apply<K, R>(tree: Tree<K, R>, changes: readonly TreeChange<K>[]): MaybePromise<Tree<K, R>> {
    if (changes.length === 0) return tree;
    return whenReady(tree.update(changes), (update) => {
      for (const node of update.replaced) this.replaced.push(node);
      return update.tree;
    });
  }
}

/** By how much the bytes of a body page, all and live ones, change. */
export interface SpaceDelta {
  total: number;
  live: number;
}

/** Adds to the byte counts in the space tree. A page whose count falls to zero stays, for repacking to drop. */
export function* updateSpace(
  space: State['space'],
  deltas: ReadonlyMap<number, SpaceDelta>,
  updates: TreeUpdates,
): CooperativeTask<State['space']> {
  const pages = [...deltas.keys()].sort((left, right) => left - right);
  const values = yield* ready(space.getMany(pages));
  const changes = pages.map((page, index) => {
    const value = values[index];
    const former = value === undefined ? { total: 0, live: 0 } : decodeSpace(value);
    const delta = deltas.get(page) ?? { total: 0, live: 0 };
    return { key: page, value: encodeSpace({ total: former.total + delta.total, live: former.live + delta.live }) };
  });
  return yield* ready(updates.apply(space, changes));
}
