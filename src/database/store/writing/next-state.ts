import { sortInSteps, sortNumbersInSteps } from '../../../base/shared/sort-in-steps.ts';
import { type CooperativeTask, eachInSteps, mapInSteps, ready } from '../../../base/shared/turn.ts';
import type { TreeChange } from '../../../storage/btree/contract.ts';
import { encodeChange, encodeChangeInSteps, encodeEntry, encodeEntryInSteps, MANY_LEAVES } from '../state/entry.ts';
import type { State } from '../state/state.ts';
import { type NextState, TreeUpdates, updateSpace } from '../state/tree-updates.ts';
import type { WorkingDocument } from './working-document.ts';
import type { WriteBatch } from './write-batch.ts';

/** Documents encoded between two checks of the clock. */
const DOCUMENTS_PER_STEP = 256;
/** Documents whose entries are put into a tree before those of the next ones are encoded. */
const DOCUMENTS_PER_PART = 4_096;

/**
 * Returns the state after a batch of changes whose bodies have their locations. `state` itself stays unchanged. With
 * `delaysById` the by-id tree, whose changes are spread over all of its leaves, gets its new nodes later, by
 * `applyDelayedChanges`.
 */
export function* nextState(state: State, batch: WriteBatch, delaysById = false): CooperativeTask<NextState> {
  const changed = yield* batch.changedDocuments();
  const updates = new TreeUpdates();
  const counts = yield* countDocuments(changed);
  const byId = yield* nextById(state, changed, updates, delaysById);
  const bySeq = yield* nextBySeq(state, changed, updates);
  const next: State = {
    version: state.version + 1,
    byId,
    bySeq,
    locals: yield* ready(updates.apply(state.locals, batch.changedLocals())),
    space: yield* updateSpace(state.space, yield* batch.spaceDeltas(), updates),
    attachments: yield* ready(updates.apply(state.attachments, yield* batch.attachments.changes())),
    updateSeq: batch.updateSeq,
    purgeSeq: batch.purgeSeq,
    docCount: state.docCount + counts.live,
    docDelCount: state.docDelCount + counts.deleted,
  };
  return { state: next, replaced: updates.replaced };
}

function* nextById(
  state: State,
  changed: readonly WorkingDocument[],
  updates: TreeUpdates,
  isDelayed: boolean,
): CooperativeTask<State['byId']> {
  if (isDelayed && changed.length > 0) {
    const changes = yield* byIdChanges(changed);
    return (yield* delayById(state, changed, changes)) ?? (yield* ready(updates.apply(state.byId, changes)));
  }
  let { byId } = state;
  for (const part of parts(changed)) byId = yield* ready(updates.apply(byId, yield* byIdChanges(part)));
  return byId;
}

/** Removes the former sequence numbers of changed documents and adds the new ones, which are all above them. */
function* nextBySeq(
  state: State,
  changed: readonly WorkingDocument[],
  updates: TreeUpdates,
): CooperativeTask<State['bySeq']> {
  const former: number[] = [];
  const present: WorkingDocument[] = [];
  yield* eachInSteps(changed, (document) => {
    if (document.formerSeq !== undefined) former.push(document.formerSeq);
    if (document.tree.leaves.length > 0) present.push(document);
  });
  let changes: TreeChange<number>[] = [];
  for (const key of yield* sortNumbersInSteps(Float64Array.from(former))) changes.push({ key, value: undefined });
  let { bySeq } = state;
  for (const part of parts(yield* sortInSteps(present, (one, other) => one.seq - other.seq))) {
    yield* addToBySeq(changes, part);
    bySeq = yield* ready(updates.apply(bySeq, changes));
    changes = [];
  }
  return bySeq;
}

function* parts(documents: readonly WorkingDocument[]): Generator<readonly WorkingDocument[]> {
  if (documents.length <= DOCUMENTS_PER_PART) return yield documents;
  for (let from = 0; from < documents.length; from += DOCUMENTS_PER_PART) {
    yield documents.slice(from, from + DOCUMENTS_PER_PART);
  }
}

/**
 * Returns the same moment with the delayed changes of its trees made in their nodes. It has a version of its own, since a snapshot
 * of the former state still reads the nodes that were replaced.
 */
export async function applyDelayedChanges(state: State): Promise<NextState> {
  const { tree: byId, replaced } = await state.byId.applyDelayedChanges();
  return { state: { ...state, version: state.version + 1, byId }, replaced };
}

function* delayById(
  { byId }: State,
  changed: readonly WorkingDocument[],
  changes: readonly TreeChange<string>[],
): CooperativeTask<State['byId'] | undefined> {
  return yield* byId.delayChanges(changes, yield* mapInSteps(changed, ({ formerValue }) => formerValue));
}

function* byIdChanges(changed: readonly WorkingDocument[]): CooperativeTask<TreeChange<string>[]> {
  const changes: TreeChange<string>[] = [];
  for (const { id, seq, tree } of changed) {
    const { leaves } = tree;
    const value = leaves.length < MANY_LEAVES ? encodeEntry(seq, leaves) : yield* encodeEntryInSteps(seq, leaves);
    changes.push({ key: id, value: leaves.length === 0 ? undefined : value });
    if (changes.length % DOCUMENTS_PER_STEP === 0) yield;
  }
  return changes;
}

/** Adds `documents`, which are in the order of their sequence numbers. */
function* addToBySeq(changes: TreeChange<number>[], documents: readonly WorkingDocument[]): CooperativeTask<void> {
  for (const { id, seq, tree } of documents) {
    const { leaves } = tree;
    const value = leaves.length < MANY_LEAVES ? encodeChange(id, leaves) : yield* encodeChangeInSteps(id, leaves);
    changes.push({ key: seq, value });
    if (changes.length % DOCUMENTS_PER_STEP === 0) yield;
  }
}

function* countDocuments(changed: readonly WorkingDocument[]): CooperativeTask<{ live: number; deleted: number }> {
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
