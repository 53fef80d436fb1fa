import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import { type CooperativeTask, mapInSteps, runCooperatively } from '../../../base/shared/turn.ts';
import type { DocId, RevId } from '../../documents/contract.ts';
import { parseRevId } from '../../documents/revisions/revisions.ts';
import type { CommitRight, PurgeOutcome } from '../contract.ts';
import { PromisedJob } from './jobs.ts';
import type { WriteBatch } from './write-batch.ts';

/** Removes leaf revisions for good (docs/http/databases.md#purge). */
export class PurgeJob extends PromisedJob<PurgeOutcome> {
  override readonly ids: readonly DocId[];
  override readonly isAlone = true;
  override readonly isDeletion = true;
  readonly #revisions: ReadonlyMap<DocId, readonly RevId[]>;
  readonly #purged = new Map<DocId, readonly RevId[]>();
  #purgeSeq = 0;

  constructor(revisions: ReadonlyMap<DocId, readonly RevId[]>, right?: CommitRight) {
    super('strict', right);
    this.ids = [...revisions.keys()];
    this.#revisions = revisions;
  }

  apply(batch: WriteBatch): MaybePromise<void> {
    return runCooperatively(this.#applyInSteps(batch));
  }

  *#applyInSteps(batch: WriteBatch): CooperativeTask<void> {
    const updateSeqBefore = batch.updateSeq;
    const purgeSeqBefore = batch.purgeSeq;
    batch.purgeSeq = purgeSeqBefore + 1;
    for (const [id, revs] of this.#revisions) {
      const removed = yield* batch.purge(batch.document(id), yield* mapInSteps(revs, parseRevId));
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
