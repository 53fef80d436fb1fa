import type { DocId, RevId } from '../documents/contract.ts';
import { DatabaseError, isDatabaseError } from '../errors/database-error.ts';
import { PageAllocator } from '../paging/page-allocator.ts';
import { PageCache } from '../paging/page-cache.ts';
import { SnapshotRegister } from '../paging/snapshot-register.ts';
import { type MaybePromise, withEnd } from '../shared/maybe-promise.ts';
import type { PageNumber } from '../storage/page-store.ts';
import { BodyStore } from './bodies/body-store.ts';
import type {
  CurrentDocument,
  Database,
  DatabaseInfo,
  DatabaseOrigin,
  DatabaseUser,
  DocumentWrite,
  Durability,
  LocalDocument,
  PurgeOutcome,
  VerifyReport,
  WriteGuard,
  WriteOptions,
  WriteOutcome,
} from './contract.ts';
import type { DatabaseParts } from './database-parts.ts';
import { StateSnapshot } from './reading/snapshot.ts';
import { type DatabaseSettings, defaultSettings } from './settings.ts';
import { decodeCurrent } from './state/entry.ts';
import { DISK_FORMAT_VERSION, type Head } from './state/head.ts';
import { decodeLineage, LINEAGE_KEY, MAX_LINEAGE } from './state/lineage.ts';
import { liveBytes, openState } from './state/state.ts';
import {
  DEFAULT_REVS_LIMIT,
  REVS_LIMIT_KEY,
  SECURITY_KEY,
  settingText,
  settingValue,
} from './state/stored-settings.ts';
import { Checkpointer } from './upkeep/checkpointer.ts';
import { EmptiedPages } from './upkeep/emptied-pages.ts';
import { Upkeep } from './upkeep/upkeep.ts';
import { DelayedWrites } from './writing/delayed-writes.ts';
import { BarrierJob, DocumentsJob, type Job, LocalJob, SettingJob } from './writing/jobs.ts';
import { PurgeJob } from './writing/purge-job.ts';
import { ValidatedWrites } from './writing/validated-writes.ts';
import { type DatabaseCore, Writer } from './writing/writer.ts';

/** The open database of one file. Made by `openDatabase`, which has replayed its journal. */
export class StoredDatabase implements Database {
  readonly name: string;
  readonly #parts: DatabaseParts;
  readonly #core: DatabaseCore;
  readonly #cache: PageCache;
  readonly #snapshots: SnapshotRegister;
  readonly #checkpointer: Checkpointer;
  readonly #upkeep: Upkeep;
  readonly #writer: Writer;
  /** Once there was something for it. */
  #delayed: DelayedWrites | undefined;
  readonly #settings: DatabaseSettings;
  readonly #guard: WriteGuard | undefined;
  readonly #validated: ValidatedWrites | undefined;
  readonly #listeners = new Set<(updateSeq: number) => void>();
  #security = '{}';
  #closed: Promise<void> | undefined;
  /** While it is being closed: what was accepted for later is judged, and written. */
  #isJudging = false;
  /** Why nothing can be done any more, where it is not because the handle was closed. */
  #refusal: DatabaseError | undefined;
  /** The sequence number that listeners were told last. */
  #announcedSeq: number;

  constructor(parts: DatabaseParts, head: Head) {
    this.name = parts.name;
    this.#parts = parts;
    this.#announcedSeq = head.updateSeq;
    this.#settings = { ...defaultSettings, ...parts.settings };
    const { file, supports } = parts;
    const allocator = new PageAllocator(file.opening.epoch, head.pageMark);
    const cache = new PageCache(parts.cache ?? this.#settings.cacheBytes);
    this.#cache = cache;
    const { bodyPageBytes, maxPageBytes } = head;
    const { leafBytes } = supports;
    this.#core = {
      file,
      allocator,
      bodies: new BodyStore({ file, cache, allocator, pageBytes: bodyPageBytes, maxPageBytes }),
      state: openState(head, { file, cache, leafBytes, bodyPageBytes }),
      revsLimit: DEFAULT_REVS_LIMIT,
      replaced: [],
      nextJournal: file.opening.nextJournal,
      journalBytes: 0,
      journalRecords: 0,
      packedPages: 0,
    };
    const emptied = new EmptiedPages(this.#core);
    const { clock, tasks } = parts;
    this.#snapshots = new SnapshotRegister(clock, this.#settings.snapshotMaxAgeMs, () => this.#upkeep.noteRelease());
    const shared = { core: this.#core, emptied, snapshots: this.#snapshots };
    this.#checkpointer = new Checkpointer({ ...shared, allocator, head, clock }, this.#settings);
    this.#writer = new Writer(this.#core, this.#checkpointer, {
      groupBytes: this.#settings.groupBytes,
      packFrom: this.#settings.packFrom,
      onCommit: (state) => this.#committed(state.updateSeq),
      onFailure: (error) => this.#failed(error),
    });
    this.#upkeep = new Upkeep(
      { ...shared, checkpointer: this.#checkpointer, writer: this.#writer, tasks },
      { idleMs: this.#settings.idleMs, shrinks: supports.shrinks, log: parts.log, name: this.name },
    );
    this.#guard = parts.createGuard?.(this);
    this.#validated =
      this.#guard && new ValidatedWrites(this.#guard, (writes, options) => this.#apply(writes, options));
  }

  /** For `openDatabase` alone: what recovery works on. */
  get core(): DatabaseCore {
    return this.#core;
  }

  /** Reads the settings that the file keeps; to be called before recovery, which needs them, and again after it. */
  async loadSettings(): Promise<void> {
    this.#security = settingText(await this.#core.state.locals.get(SECURITY_KEY)) ?? '{}';
    const limit = settingText(await this.#core.state.locals.get(REVS_LIMIT_KEY));
    if (limit !== undefined) this.#core.revsLimit = Number(limit);
  }

  /** For `openDatabase` alone: recovery is done, checkpoints may begin, and `garbage` may go. */
  endOpening(garbage: readonly PageNumber[]): void {
    this.#checkpointer.dropLater(garbage);
    this.#writer.endOpening();
  }

  /** Keeps a setting of the file. */
  async setSetting(job: SettingJob): Promise<void> {
    await this.#run(job);
  }

  get uuid(): string {
    return this.#checkpointer.head.uuid;
  }

  get instanceStartTime(): string {
    return this.#checkpointer.head.instanceStartTime;
  }

  get updateSeq(): number {
    return this.#core.state.updateSeq;
  }

  async info(): Promise<DatabaseInfo> {
    this.#mustBeOpen();
    const { state, file } = this.#core;
    return {
      name: this.name,
      uuid: this.uuid,
      docCount: state.docCount,
      docDelCount: state.docDelCount,
      updateSeq: state.updateSeq,
      committedUpdateSeq: state.updateSeq,
      purgeSeq: state.purgeSeq,
      compactRunning: this.compactRunning,
      diskSize: await file.size(),
      dataSize: liveBytes(state),
      instanceStartTime: this.instanceStartTime,
      diskFormatVersion: DISK_FORMAT_VERSION,
    };
  }

  async origin(): Promise<DatabaseOrigin> {
    this.#mustBeOpen();
    const { file, state } = this.#core;
    const lineage = decodeLineage(await state.locals.get(LINEAGE_KEY));
    const { uuid } = this.#checkpointer.head;
    const isLineageComplete = lineage.length < MAX_LINEAGE;
    return { file: file.name, uuid, epoch: file.opening.epoch, lineage, isLineageComplete };
  }

  snapshot(): StateSnapshot {
    this.#mustBeOpen();
    return new StateSnapshot(this.#core, this.#snapshots);
  }

  current(id: DocId): CurrentDocument | undefined {
    const { state, bodies } = this.#core;
    if (this.#closed !== undefined) return undefined;
    return decodeCurrent((body) => bodies.readAtOnce(body), state.byId.peek(id)?.value);
  }

  async write(writes: readonly DocumentWrite[], options: WriteOptions): Promise<WriteOutcome[]> {
    return this.#validated === undefined ? this.#apply(writes, options) : this.#validated.write(writes, options);
  }

  #apply(writes: readonly DocumentWrite[], options: WriteOptions): Promise<WriteOutcome[]> {
    return this.#run(new DocumentsJob(writes, options, this.#parts.hasher));
  }

  writeDelayed(writes: readonly DocumentWrite[], user?: DatabaseUser): MaybePromise<void> {
    if (this.#closed !== undefined) throw this.#refusal ?? closedError(this.name);
    this.#delayed ??= this.#createDelayed();
    return this.#delayed.add(writes, user);
  }

  #createDelayed(): DelayedWrites {
    return new DelayedWrites({
      write: (waiting, of) => this.write(waiting, { newEdits: true, durability: 'relaxed', user: of }),
      onError: (error) => this.#parts.log.error(`documents accepted with batch=ok were lost in ${this.name}`, error),
      mustBeOpen: () => this.#mustBeOpen(),
    });
  }

  readLocal(id: DocId): MaybePromise<LocalDocument | undefined> {
    const snapshot = this.snapshot();
    return withEnd(
      () => snapshot.local(id),
      () => snapshot.release(),
    );
  }

  async writeLocal(
    id: DocId,
    rev: string | undefined,
    body: string | undefined,
    durability: Durability,
  ): Promise<string> {
    return this.#run(new LocalJob(id, rev, body, durability));
  }

  get security(): string {
    return this.#security;
  }

  async setSecurity(json: string): Promise<void> {
    const onStored = () => {
      this.#security = json;
    };
    await this.#run(new SettingJob(SECURITY_KEY, settingValue(json), { onStored }));
  }

  get revsLimit(): number {
    return this.#core.revsLimit;
  }

  async setRevsLimit(limit: number): Promise<void> {
    const onStored = () => {
      this.#core.revsLimit = limit;
    };
    await this.#run(new SettingJob(REVS_LIMIT_KEY, settingValue(String(limit)), { onStored }));
  }

  get purgeSeq(): number {
    return this.#core.state.purgeSeq;
  }

  async purge(revisions: ReadonlyMap<DocId, readonly RevId[]>): Promise<PurgeOutcome> {
    if (this.compactRunning) throw new DatabaseError('purge_during_compaction', 'purge_during_compaction');
    const outcome = await this.#run(new PurgeJob(revisions));
    this.#guard?.designsChanged();
    return outcome;
  }

  async flush(): Promise<string> {
    await this.#flushDelayed();
    await this.#run(new BarrierJob('strict'));
    return this.#checkpointer.head.instanceStartTime;
  }

  get compactRunning(): boolean {
    return this.#upkeep.compactRunning;
  }

  async compact(): Promise<void> {
    this.#mustBeOpen();
    await this.#upkeep.compact();
  }

  async verify(onProgress?: (done: number, total: number) => void): Promise<VerifyReport> {
    this.#mustBeOpen();
    const { verifier, supports } = this.#parts;
    if (verifier === undefined)
      throw new DatabaseError('not_implemented', `${this.name} was opened without what verifies it.`);
    return verifier({
      core: this.#core,
      checkpointer: this.#checkpointer,
      snapshots: this.#snapshots,
      leafBytes: supports.leafBytes,
      upkeep: this.#upkeep,
      writer: this.#writer,
      onProgress,
    });
  }

  onChange(listener: (updateSeq: number) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /**
   * Ends without storing anything more, for a file that is being removed: from now on everything fails with
   * `storage_deleted`. Resolves after the commit that is under way; the file itself is left open.
   */
  discard(): Promise<void> {
    this.#refusal = new DatabaseError('storage_deleted', `The database ${this.name} was deleted.`);
    this.#closed ??= this.#discard(this.#refusal);
    return this.#closed;
  }

  async #discard(reason: DatabaseError): Promise<void> {
    this.#delayed?.discard();
    const ended = this.#writer.abandon(reason);
    await this.#upkeep.end(reason);
    await ended;
    this.#cache.close();
  }

  async #close(): Promise<void> {
    // Runs up to the hand-over of its documents at once, before the handle counts as closed; unless they must be judged.
    this.#isJudging = this.#guard !== undefined && this.#delayed?.hasUnwritten === true;
    const flushed = this.#flushDelayed().finally(() => {
      this.#isJudging = false;
    });
    await Promise.all([flushed, this.#upkeep.end(closedError(this.name))]);
    this.#checkpointer.want().catch(() => undefined);
    this.#writer.wake();
    await this.#writer.end(closedError(this.name));
    try {
      if (!this.#writer.hasFailed && !this.#checkpointer.isDirty) await this.#checkpointer.finish();
    } finally {
      this.#cache.close();
      await this.#core.file.close();
    }
  }

  async #flushDelayed(): Promise<void> {
    await this.#delayed?.flush();
  }

  async #run<T>(job: Job & { readonly promise: Promise<T> }): Promise<T> {
    this.#mustBeOpen();
    this.#writer.submit(job);
    return job.promise;
  }

  #mustBeOpen(): void {
    if (this.#closed !== undefined && !this.#isJudging) throw this.#refusal ?? closedError(this.name);
  }

  #committed(updateSeq: number): void {
    this.#upkeep.noteCommit();
    if (updateSeq === this.#announcedSeq) return;
    this.#announcedSeq = updateSeq;
    for (const listener of this.#listeners) this.#tell(listener, updateSeq);
  }

  /** What was committed stays so, whatever becomes of those who wanted to know. */
  #tell(listener: (updateSeq: number) => void, updateSeq: number): void {
    try {
      listener(updateSeq);
    } catch (error) {
      this.#parts.log.error(`a listener to the changes of ${this.name} failed`, error);
    }
  }

  #failed(error: unknown): void {
    void this.#upkeep.end(error);
    this.#checkpointer.fail(error);
    // Nobody opens again what was deleted, perhaps while it was being opened.
    if (!isDatabaseError(error, 'storage_deleted'))
      this.#parts.log.error(`database ${this.name} is given up and will be opened again`, error);
    this.#parts.onFailure(error);
  }
}

function closedError(name: string): DatabaseError {
  return new DatabaseError('storage_closed', `The database ${name} is closed. Open it again.`);
}
