import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import { type CooperativeTask, mapInSteps, runCooperatively } from '../../../base/shared/turn.ts';
import type { Log } from '../../../base/system/contract.ts';
import type { DocId, RevId } from '../../documents/contract.ts';
import type { RevisionHasher } from '../../documents/revisions/revision-hash.ts';
import { parseRevId } from '../../documents/revisions/revisions.ts';
import type {
  CommitRight,
  DatabaseUser,
  DocumentWrite,
  LocalWriteOptions,
  PurgeOutcome,
  WriteGuard,
  WriteOptions,
  WriteOutcome,
} from '../contract.ts';
import { LINEAGE_KEY, REVS_LIMIT_KEY, SECURITY_KEY, type StoredSettings, settingValue } from '../state/locals.ts';
import { DelayedWrites } from './delayed-writes.ts';
import { BarrierJob, DocumentsJob, type Job, LocalJob, PromisedJob, SettingJob } from './jobs.ts';
import { ValidatedWrites } from './validated-writes.ts';
import type { WriteBatch } from './write-batch.ts';
import type { WriteQueue } from './write-queue.ts';

/** Removes leaf revisions for good (docs/http/databases.md#purge). */
class PurgeJob extends PromisedJob<PurgeOutcome> {
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

interface DatabaseWriterOptions {
  readonly name: string;
  readonly queue: WriteQueue;
  readonly settings: StoredSettings;
  readonly hasher: RevisionHasher;
  readonly log: Log;
  /** Validates what is written; without one all is accepted. */
  readonly guard: WriteGuard | undefined;
  /** Throws if the database is closed. */
  mustBeOpen(): void;
}

/** All writing of one database. Validates, makes jobs, and waits for the write queue to commit them. */
export class DatabaseWriter {
  readonly #options: DatabaseWriterOptions;
  readonly #validated: ValidatedWrites | undefined;
  /** Set once there were delayed writes. */
  #delayed: DelayedWrites | undefined;

  constructor(options: DatabaseWriterOptions) {
    this.#options = options;
    const { guard } = options;
    this.#validated = guard && new ValidatedWrites(guard, (writes, options) => this.#apply(writes, options));
  }

  async write(writes: readonly DocumentWrite[], options: WriteOptions): Promise<WriteOutcome[]> {
    return this.#validated === undefined ? this.#apply(writes, options) : this.#validated.write(writes, options);
  }

  #apply(writes: readonly DocumentWrite[], options: WriteOptions): Promise<WriteOutcome[]> {
    const job = runCooperatively(DocumentsJob.of(writes, options, this.#options.hasher));
    return job instanceof Promise ? job.then((made) => this.#run(made)) : this.#run(job);
  }

  writeDelayed(writes: readonly DocumentWrite[], user: DatabaseUser | undefined): MaybePromise<void> {
    this.#delayed ??= this.#createDelayed();
    return this.#delayed.add(writes, user);
  }

  #createDelayed(): DelayedWrites {
    const { name, log, mustBeOpen } = this.#options;
    return new DelayedWrites({
      write: (waiting, user) => this.write(waiting, { newEdits: true, durability: 'relaxed', user }),
      onError: (error) => log.error(`documents accepted with batch=ok were lost in ${name}`, error),
      mustBeOpen,
    });
  }

  async writeLocal(
    id: DocId,
    rev: string | undefined,
    body: string | undefined,
    options: LocalWriteOptions,
  ): Promise<string> {
    return this.#run(new LocalJob(id, rev, body, options));
  }

  async setSecurity(json: string, right?: CommitRight): Promise<void> {
    const onStored = () => {
      this.#options.settings.security = json;
    };
    await this.#run(new SettingJob(SECURITY_KEY, settingValue(json), { onStored, right }));
  }

  async setRevsLimit(limit: number, right?: CommitRight): Promise<void> {
    const onStored = () => {
      this.#options.settings.revsLimit = limit;
    };
    await this.#run(new SettingJob(REVS_LIMIT_KEY, settingValue(String(limit)), { onStored, right }));
  }

  /** Keeps the lineage. No need to wait for the medium: nothing survives a loss without what was committed before it. */
  async setLineage(lineage: string): Promise<void> {
    await this.#run(new SettingJob(LINEAGE_KEY, lineage, { durability: 'relaxed' }));
  }

  async purge(revisions: ReadonlyMap<DocId, readonly RevId[]>, right?: CommitRight): Promise<PurgeOutcome> {
    const outcome = await this.#run(new PurgeJob(revisions, right));
    this.#options.guard?.designsChanged();
    return outcome;
  }

  /** Makes everything committed durable, delayed writes included. */
  async flush(): Promise<void> {
    await this.flushDelayed();
    await this.#run(new BarrierJob('strict'));
  }

  /** Whether there are delayed writes that must be validated before they can be committed. */
  get mustValidateDelayed(): boolean {
    return this.#options.guard !== undefined && this.#delayed?.hasUnwritten === true;
  }

  /** Writes what was delayed. */
  async flushDelayed(): Promise<void> {
    await this.#delayed?.flush();
  }

  /** Discards the delayed writes that were not begun. */
  discardDelayed(): void {
    this.#delayed?.discard();
  }

  async #run<T>(job: Job & { readonly promise: Promise<T> }): Promise<T> {
    this.#options.mustBeOpen();
    this.#options.queue.submit(job);
    return job.promise;
  }
}
