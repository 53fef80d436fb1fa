import { DatabaseError } from '../../../base/errors/database-error.ts';
import { must } from '../../../base/shared/assert.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import { filterInSteps, mapInSteps, runCooperatively, someInSteps } from '../../../base/shared/turn.ts';
import type { Log } from '../../../base/system/contract.ts';
import type { DocId, RevId } from '../../documents/contract.ts';
import { isDesignId } from '../../documents/identifiers.ts';
import type { RevisionHasher } from '../../documents/revisions/revision-hash.ts';
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
import {
  AUTO_PURGE_KEY,
  LINEAGE_KEY,
  PURGE_NOTES_KEY,
  REVS_LIMIT_KEY,
  SECURITY_KEY,
  type StoredSettings,
  settingValue,
} from '../state/locals.ts';
import { DelayedWrites } from './delayed-writes.ts';
import { BarrierJob, DocumentsJob, type Job, LocalJob, SettingJob } from './jobs.ts';
import { PurgeJob, TombstonesJob } from './purge-jobs.ts';
import type { WriteQueue } from './write-queue.ts';

interface DatabaseWriterOptions {
  readonly name: string;
  readonly queue: WriteQueue;
  readonly settings: StoredSettings;
  readonly hasher: RevisionHasher;
  readonly log: Log;
  /** Validates what is written; without one all is accepted. */
  readonly guard: WriteGuard | undefined;
}

/** All writing of one database: has the guard validate, makes jobs, and submits them to the write queue, which commits them. */
export class DatabaseWriter {
  readonly #options: DatabaseWriterOptions;
  /** Set once there were delayed writes. */
  #delayed: DelayedWrites | undefined;
  /** Settles when the last exclusive write is done. */
  #exclusive: Promise<unknown> = Promise.resolve();
  #refusal: DatabaseError | undefined;

  constructor(options: DatabaseWriterOptions) {
    this.#options = options;
  }

  /** Why the database can no longer be used; undefined while it can be. */
  get refusal(): DatabaseError | undefined {
    return this.#refusal;
  }

  /** Refuses all writes that are not submitted yet. */
  refuse(reason: DatabaseError): void {
    this.#refusal = reason;
  }

  /**
   * Validates the writes before they are submitted. Refused writes do not reach the queue; with `allOrNothing` nothing of the
   * request does then.
   */
  async write(writes: readonly DocumentWrite[], options: WriteOptions): Promise<WriteOutcome[]> {
    const { guard } = this.#options;
    if (guard === undefined) return this.#submitDocuments(writes, options);
    const looked = runCooperatively(someInSteps(writes, ({ id }) => isDesignId(id)));
    // Without a wait where none is needed: a lone write is committed in this turn.
    const hasDesign = looked instanceof Promise ? await looked : looked;
    return hasDesign || guard.isNeeded
      ? this.#prepareAndValidate(guard, writes, options, hasDesign)
      : this.#submitDocuments(writes, options);
  }

  async #prepareAndValidate(
    guard: WriteGuard,
    given: readonly DocumentWrite[],
    options: WriteOptions,
    hasDesign: boolean,
  ): Promise<WriteOutcome[]> {
    try {
      const writes = (await guard.prepare?.(given, options)) ?? given;
      const validate = () => this.#validate(guard, writes, options, hasDesign);
      return await (guard.isExclusive === true ? this.#alone(validate) : validate());
    } finally {
      // Before any caller learns that they are written.
      if (hasDesign) guard.designsChanged();
    }
  }

  /** Runs the work when all exclusive work that was begun before has ended. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#exclusive.then(work);
    this.#exclusive = done.catch(() => undefined);
    return done;
  }

  async #validate(
    guard: WriteGuard,
    writes: readonly DocumentWrite[],
    options: WriteOptions,
    hasDesign: boolean,
  ): Promise<WriteOutcome[]> {
    const verdicts = hasDesign || guard.isNeeded ? await guard.validate(writes, options) : [];
    const isRefused = await runCooperatively(someInSteps(verdicts, (verdict) => verdict !== undefined));
    return isRefused ? this.#submitAccepted(writes, verdicts, options) : this.#submitDocuments(writes, options);
  }

  async #submitAccepted(
    writes: readonly DocumentWrite[],
    verdicts: readonly (DatabaseError | undefined)[],
    options: WriteOptions,
  ): Promise<WriteOutcome[]> {
    const accepted = await runCooperatively(filterInSteps(writes, (_write, index) => verdicts[index] === undefined));
    const abort = options.allOrNothing === true ? aborted() : undefined;
    const outcomes = abort !== undefined || accepted.length === 0 ? [] : await this.#submitDocuments(accepted, options);
    let next = 0;
    const outcomeOf = ({ id, rev }: DocumentWrite, index: number): WriteOutcome => {
      const error = verdicts[index] ?? abort;
      return error === undefined ? must(outcomes[next++]) : { ok: false, id, rev, error };
    };
    return runCooperatively(mapInSteps(writes, outcomeOf));
  }

  #submitDocuments(writes: readonly DocumentWrite[], options: WriteOptions): Promise<WriteOutcome[]> {
    const job = runCooperatively(DocumentsJob.of(writes, options, this.#options.hasher));
    return job instanceof Promise ? job.then((made) => this.#submit(made)) : this.#submit(job);
  }

  async #submit<T>(job: Job & { readonly promise: Promise<T> }): Promise<T> {
    this.#mustAccept();
    this.#options.queue.submit(job);
    return job.promise;
  }

  #mustAccept(): void {
    if (this.#refusal !== undefined) throw this.#refusal;
  }

  writeDelayed(writes: readonly DocumentWrite[], user: DatabaseUser | undefined): MaybePromise<void> {
    this.#delayed ??= this.#createDelayed();
    return this.#delayed.add(writes, user);
  }

  #createDelayed(): DelayedWrites {
    const { name, log } = this.#options;
    return new DelayedWrites({
      write: (waiting, user) => this.write(waiting, { newEdits: true, durability: 'relaxed', user }),
      onError: (error) => log.error(`documents accepted with batch=ok were lost in ${name}`, error),
      mustBeOpen: () => this.#mustAccept(),
    });
  }

  async writeLocal(
    id: DocId,
    rev: string | undefined,
    body: string | undefined,
    options: LocalWriteOptions,
  ): Promise<string> {
    return this.#submit(new LocalJob(id, rev, body, options));
  }

  async setSecurity(json: string, right?: CommitRight): Promise<void> {
    const onStored = () => {
      this.#options.settings.security = json;
    };
    await this.#submit(new SettingJob(SECURITY_KEY, settingValue(json), { onStored, right }));
  }

  async setRevsLimit(limit: number, right?: CommitRight): Promise<void> {
    const onStored = () => {
      this.#options.settings.revsLimit = limit;
    };
    await this.#submit(new SettingJob(REVS_LIMIT_KEY, settingValue(String(limit)), { onStored, right }));
  }

  async setAutoPurge(json: string, right?: CommitRight): Promise<void> {
    const onStored = () => {
      this.#options.settings.autoPurge = json;
    };
    await this.#submit(new SettingJob(AUTO_PURGE_KEY, settingValue(json), { onStored, right }));
  }

  /** Nothing is lost if a power cut takes it back. */
  async setPurgeNotes(text: string): Promise<void> {
    await this.#submit(new SettingJob(PURGE_NOTES_KEY, settingValue(text), { durability: 'relaxed' }));
  }

  /** Keeps the lineage. No need to wait for the medium: nothing survives a loss without what was committed before it. */
  async setLineage(lineage: string): Promise<void> {
    await this.#submit(new SettingJob(LINEAGE_KEY, lineage, { durability: 'relaxed' }));
  }

  async purge(revisions: ReadonlyMap<DocId, readonly RevId[]>, right?: CommitRight): Promise<PurgeOutcome> {
    const outcome = await this.#submit(new PurgeJob(revisions, right));
    this.#options.guard?.designsChanged();
    return outcome;
  }

  async purgeTombstones(ids: readonly DocId[], untilSeq: number): Promise<PurgeOutcome> {
    const outcome = await this.#submit(new TombstonesJob(ids, untilSeq));
    if (ids.some(isDesignId)) this.#options.guard?.designsChanged();
    return outcome;
  }

  /** Makes everything committed durable, delayed writes included. */
  async flush(): Promise<void> {
    await this.#flushDelayed();
    await this.#submit(new BarrierJob('strict'));
  }

  async #flushDelayed(): Promise<void> {
    await this.#delayed?.flush();
  }

  /**
   * Writes what was delayed, and refuses all other writes with that reason: at once, unless delayed writes must be validated. Their
   * validation uses the database, so it stays usable until they are written.
   */
  async close(reason: DatabaseError): Promise<void> {
    const mustValidate = this.#options.guard !== undefined && this.#delayed?.hasUnwritten === true;
    const flushed = this.#flushDelayed();
    if (!mustValidate) this.refuse(reason);
    await flushed.finally(() => this.refuse(reason));
  }

  /** Refuses all writes with that reason, and discards the delayed writes that were not begun. */
  discard(reason: DatabaseError): void {
    this.refuse(reason);
    this.#delayed?.discard();
  }
}

function aborted(): DatabaseError {
  const reason = 'Nothing was written, because another document of the request was refused.';
  return new DatabaseError('cancelled', reason);
}
