import type { ReplacedNode, TreeChange, TreeUpdate } from '../../btree/contract.ts';
import type { Tree } from '../../btree/tree.ts';
import { inTurns, mapInSteps, Pace } from '../../shared/turn.ts';
import { encodeChange, encodeEntry } from '../state/entry.ts';
import type { State } from '../state/state.ts';
import { decodeSpace, encodeSpace } from '../state/trees.ts';
import type { SpaceDelta, WorkingDocument, WriteBatch } from './write-batch.ts';

/** A state made of another one, and the nodes that are not part of it any more. */
export interface NextState {
  readonly state: State;
  readonly replaced: readonly ReplacedNode[];
}

/** Collects updates of several trees into one result. */
export class Updates {
  readonly replaced: ReplacedNode[] = [];

  async apply<K, R>(tree: Tree<K, R>, changes: readonly TreeChange<K>[]): Promise<Tree<K, R>> {
    if (changes.length === 0) return tree;
    const update: TreeUpdate<Tree<K, R>> = await tree.update(changes);
    for (const node of update.replaced) this.replaced.push(node);
    return update.tree;
  }
}

/**
 * The state after a group of changes whose bodies have their places. `state` itself is left as it is. With `postpones`
 * the by-id tree, whose changes are all over the place, gets its new nodes later, by `applyDelayedChanges`.
 */
export async function nextState(state: State, batch: WriteBatch, postpones = false): Promise<NextState> {
  const pace = new Pace();
  const changed = batch.changedDocuments();
  const updates = new Updates();
  const encoded = inTurns(mapInSteps(changed, byIdChange));
  const changes = encoded instanceof Promise ? await encoded : encoded;
  const formerValues = () => changed.map((document) => document.formerValue);
  const postponed = postpones && changes.length > 0 ? state.byId.delayChanges(changes, formerValues()) : undefined;
  const counts = countDocuments(changed);
  const byId = postponed ?? (await updates.apply(state.byId, changes));
  if (pace.isDue) await pace.rest();
  const changesBySeq = bySeqChanges(changed);
  if (pace.isDue) await pace.rest();
  const next: State = {
    version: state.version + 1,
    byId,
    bySeq: await updates.apply(state.bySeq, changesBySeq),
    locals: await updates.apply(state.locals, batch.changedLocals()),
    space: await applySpace(state.space, batch.spaceDeltas(), updates),
    updateSeq: batch.updateSeq,
    purgeSeq: batch.purgeSeq,
    docCount: state.docCount + counts.live,
    docDelCount: state.docDelCount + counts.deleted,
  };
  return { state: next, replaced: updates.replaced };
}

/**
 * The same moment with all of its trees' nodes made. A version of its own: a snapshot of the former one still reads the
 * nodes that were replaced.
 */
export async function applyDelayedChanges(state: State): Promise<NextState> {
  const { tree: byId, replaced } = await state.byId.applyDelayedChanges();
  return { state: { ...state, version: state.version + 1, byId }, replaced };
}

function byIdChange({ id, seq, leaves }: WorkingDocument): TreeChange<string> {
  return { key: id, value: leaves.length === 0 ? undefined : encodeEntry(seq, leaves) };
}

/**
 * Former places go, new ones come; new sequence numbers are above all former ones. The numbers are sorted by themselves: a
 * comparison of ours for each pair is what replaying a journal would take longest for.
 */
function bySeqChanges(changed: readonly WorkingDocument[]): TreeChange<number>[] {
  const values = new Map<number, string | undefined>();
  for (const { id, seq, formerSeq, leaves } of changed) {
    if (formerSeq !== undefined) values.set(formerSeq, undefined);
    if (leaves.length > 0) values.set(seq, encodeChange(id, leaves));
  }
  const changes: TreeChange<number>[] = [];
  for (const key of Float64Array.from(values.keys()).sort()) changes.push({ key, value: values.get(key) });
  return changes;
}

function countDocuments(changed: readonly WorkingDocument[]): { live: number; deleted: number } {
  let live = 0;
  let deleted = 0;
  for (const { formerSeq, wasDeleted, leaves } of changed) {
    if (formerSeq !== undefined) {
      if (wasDeleted) deleted--;
      else live--;
    }
    const winner = leaves[0];
    if (winner?.deleted === true) deleted++;
    else if (winner !== undefined) live++;
  }
  return { live, deleted };
}

/** Works byte counts into the space tree. A page whose count of bytes falls to nothing stays, for the repacking to drop. */
export async function applySpace(
  space: State['space'],
  deltas: ReadonlyMap<number, SpaceDelta>,
  updates: Updates,
): Promise<State['space']> {
  const pages = [...deltas.keys()].sort((left, right) => left - right);
  const values = pages.length === 0 ? [] : await space.getMany(pages);
  const changes = pages.map((page, index) => {
    const value = values[index];
    const former = value === undefined ? { total: 0, live: 0 } : decodeSpace(value);
    const delta = deltas.get(page) ?? { total: 0, live: 0 };
    return { key: page, value: encodeSpace({ total: former.total + delta.total, live: former.live + delta.live }) };
  });
  return updates.apply(space, changes);
}
