/** Jobs that remove revisions for good, as if they had never existed. */

import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import { type CooperativeTask, mapInSteps, runCooperatively } from '../../../base/shared/turn.ts';
import type { DocId, RevId } from '../../documents/contract.ts';
import { parseRevId, toRevId } from '../../documents/revisions/revisions.ts';
import type { CommitRight, Durability, PurgeOutcome } from '../contract.ts';
import { PromisedJob } from './jobs.ts';
import type { WorkingDocument } from './working-document.ts';
import type { WriteBatch } from './write-batch.ts';

/** Gets a commit of its own, which raises the purge sequence by one if anything was removed. */
abstract class RemovalJob extends PromisedJob<PurgeOutcome> {
  override readonly ids: readonly DocId[];
  override readonly isAlone = true;
  override readonly isDeletion = true;
  readonly #purged = new Map<DocId, readonly RevId[]>();
  #purgeSeq = 0;

  constructor(ids: readonly DocId[], durability: Durability, right?: CommitRight) {
    super(durability, right);
    this.ids = ids;
  }

  /** Returns the leaf revisions to be removed. */
  protected abstract revisionsOf(document: WorkingDocument): CooperativeTask<readonly RevId[]>;

  apply(batch: WriteBatch): MaybePromise<void> {
    return runCooperatively(this.#applyInSteps(batch));
  }

  *#applyInSteps(batch: WriteBatch): CooperativeTask<void> {
    const updateSeqBefore = batch.updateSeq;
    const purgeSeqBefore = batch.purgeSeq;
    batch.purgeSeq = purgeSeqBefore + 1;
    for (const id of this.ids) {
      const document = batch.document(id);
      const revs = yield* this.revisionsOf(document);
      const removed = revs.length === 0 ? revs : yield* batch.purge(document, revs);
      if (removed.length > 0) this.#purged.set(id, removed);
      yield;
    }
    if (this.#purged.size > 0) batch.endPurge(updateSeqBefore);
    else batch.purgeSeq = purgeSeqBefore;
    this.#purgeSeq = batch.purgeSeq;
  }

  protected result(): PurgeOutcome {
    return { purgeSeq: this.#purgeSeq, purged: this.#purged };
  }
}

/** Removes leaf revisions (docs/http/databases.md#purge). */
export class PurgeJob extends RemovalJob {
  readonly #revisions: ReadonlyMap<DocId, readonly RevId[]>;

  constructor(revisions: ReadonlyMap<DocId, readonly RevId[]>, right?: CommitRight) {
    super([...revisions.keys()], 'strict', right);
    this.#revisions = revisions;
  }

  protected *revisionsOf({ id }: WorkingDocument): CooperativeTask<readonly RevId[]> {
    return yield* mapInSteps(this.#revisions.get(id) ?? [], parseRevId);
  }
}

/**
 * Removes those of the documents whose leaves are all tombstones and that have not changed after `untilSeq`
 * (docs/http/databases.md#automatic-purge). If a power cut takes it back, it is done again.
 */
export class TombstonesJob extends RemovalJob {
  readonly #untilSeq: number;

  constructor(ids: readonly DocId[], untilSeq: number) {
    super(ids, 'relaxed');
    this.#untilSeq = untilSeq;
  }

  protected *revisionsOf({ formerSeq, changed, tree }: WorkingDocument): CooperativeTask<readonly RevId[]> {
    if (changed || formerSeq === undefined || formerSeq > this.#untilSeq) return [];
    const { leaves } = tree;
    // A live leaf would be the winner, which is the first.
    if (leaves[0]?.deleted !== true) return [];
    return yield* mapInSteps(leaves, ({ generation, hash }) => toRevId(generation, hash));
  }
}
