import type { TreeChange } from '../../btree/contract.ts';
import { sortNumbersInSteps } from '../../shared/sort-in-steps.ts';
import { eachInSteps, inTurns, mapInSteps, Pace, type Steps } from '../../shared/turn.ts';
import { encodeChange, encodeEntry, encodeEntryInSteps, MANY_LEAVES } from '../state/entry.ts';
import type { State } from '../state/state.ts';
import { type NextState, TreeUpdates, updateSpace } from '../state/tree-updates.ts';
import type { WorkingDocument } from './working-document.ts';
import type { WriteBatch } from './write-batch.ts';

/** Documents encoded between two looks at the clock. */
const DOCUMENTS_PER_STEP = 256;

/**
 * The state after a batch of changes whose bodies have their locations. `state` itself is left as it is. With
 * `delaysById` the by-id tree, whose changes are spread over all of its leaves, gets its new nodes later, by
 * `applyDelayedChanges`.
 */
export async function nextState(state: State, batch: WriteBatch, delaysById = false): Promise<NextState> {
  const pace = new Pace();
  const changed = await inTurns(batch.changedDocuments());
  const updates = new TreeUpdates();
  const changes = await inTurns(byIdChanges(changed));
  const formerValues = () => changed.map((document) => document.formerValue);
  const delayed = delaysById && changes.length > 0 ? state.byId.delayChanges(changes, formerValues()) : undefined;
  const counts = await inTurns(countDocuments(changed));
  const byId = delayed ?? (await updates.apply(state.byId, changes));
  if (pace.isDue) await pace.rest();
  const changesBySeq = await inTurns(bySeqChanges(changed));
  if (pace.isDue) await pace.rest();
  const next: State = {
    version: state.version + 1,
    byId,
    bySeq: await updates.apply(state.bySeq, changesBySeq),
    locals: await updates.apply(state.locals, batch.changedLocals()),
    space: await updateSpace(state.space, await inTurns(batch.spaceDeltas()), updates),
    attachments: await updates.apply(state.attachments, batch.attachments.changes()),
    updateSeq: batch.updateSeq,
    purgeSeq: batch.purgeSeq,
    docCount: state.docCount + counts.live,
    docDelCount: state.docDelCount + counts.deleted,
  };
  return { state: next, replaced: updates.replaced };
}

/**
 * The same moment with the delayed changes of its trees made in their nodes. It has a version of its own, since a snapshot
 * of the former state still reads the nodes that were replaced.
 */
export async function applyDelayedChanges(state: State): Promise<NextState> {
  const { tree: byId, replaced } = await state.byId.applyDelayedChanges();
  return { state: { ...state, version: state.version + 1, byId }, replaced };
}

function* byIdChanges(changed: readonly WorkingDocument[]): Steps<TreeChange<string>[]> {
  const changes: TreeChange<string>[] = [];
  for (const { id, seq, tree } of changed) {
    const { leaves } = tree;
    const value = leaves.length < MANY_LEAVES ? encodeEntry(seq, leaves) : yield* encodeEntryInSteps(seq, leaves);
    changes.push({ key: id, value: leaves.length === 0 ? undefined : value });
    if (changes.length % DOCUMENTS_PER_STEP === 0) yield;
  }
  return changes;
}

/** The former sequence numbers of changed documents go, the new ones come. */
function* bySeqChanges(changed: readonly WorkingDocument[]): Steps<TreeChange<number>[]> {
  const values = new Map<number, string | undefined>();
  for (const [index, { id, seq, formerSeq, tree }] of changed.entries()) {
    const { leaves } = tree;
    if (formerSeq !== undefined) values.set(formerSeq, undefined);
    if (leaves.length > 0) values.set(seq, encodeChange(id, leaves));
    if (index % DOCUMENTS_PER_STEP === DOCUMENTS_PER_STEP - 1) yield;
  }
  const sorted = yield* sortNumbersInSteps(Float64Array.from(values.keys()));
  return yield* mapInSteps(sorted, (key) => ({ key, value: values.get(key) }));
}

function* countDocuments(changed: readonly WorkingDocument[]): Steps<{ live: number; deleted: number }> {
  let live = 0;
  let deleted = 0;
  yield* eachInSteps(changed, ({ formerSeq, wasDeleted, tree }) => {
    if (formerSeq !== undefined) {
      if (wasDeleted) deleted--;
      else live--;
    }
    const { winner } = tree;
    if (winner?.deleted === true) deleted++;
    else if (winner !== undefined) live++;
  });
  return { live, deleted };
}
