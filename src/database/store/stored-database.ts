import { DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { Log } from '../../base/system/contract.ts';
import type { Page, PageNumber } from '../../storage/page-store.ts';
import { SnapshotRegister } from '../../storage/paging/snapshot-register.ts';
import type { DocId, RevId } from '../documents/contract.ts';
import { PageUpload } from './attachment-pages.ts';
import type {
  AttachmentUpload,
  CommitRight,
  CurrentDocument,
  Database,
  DatabaseCounters,
  DatabaseInfo,
  DatabaseOrigin,
  DatabaseUser,
  DocumentWrite,
  LocalDocument,
  LocalWriteOptions,
  PurgeOutcome,
  TimeMark,
  VerifyReport,
  WriteOptions,
  WriteOutcome,
} from './contract.ts';
import { DatabaseReader } from './reading/database-reader.ts';
import type { StateSnapshot } from './reading/snapshot.ts';
import { type DatabaseOptions, defaultSettings } from './settings.ts';
import type { OpenedFile } from './state/opened-file.ts';
import { seqAt } from './state/time-marks.ts';
import { Upkeep } from './upkeep/upkeep.ts';
import { DatabaseWriter } from './writing/database-writer.ts';
import { BarrierJob } from './writing/jobs.ts';
import { WriteQueue } from './writing/write-queue.ts';

/** How long a purge waits for a running compaction. */
const PURGE_WAIT_MS = 30_000;

/**
 * The open database of one file: joins its reader, its writer and its upkeep, and decides when they may be used. Made by
 * `openDatabase`, which has replayed its journal.
 */
export class StoredDatabase implements Database {
  readonly name: string;
  readonly #opened: OpenedFile;
  readonly #reader: DatabaseReader;
  readonly #queue: WriteQueue;
  readonly #writer: DatabaseWriter;
  readonly #upkeep: Upkeep;
  readonly #log: Log;
  readonly #onFailure: (error: unknown) => void;
  readonly #listeners = new Set<(updateSeq: number) => void>();
  readonly #counters: DatabaseCounters;
  /** Writes were counted up to here; undefined while the file is being opened. */
  #countedSeq: number | undefined;
  /** The last sequence number that listeners were notified of. */
  #notifiedSeq: number;
  #closed: Promise<void> | undefined;

  constructor(options: DatabaseOptions, opened: OpenedFile) {
    const { name, clock, log, hasher, supports, tasks } = options;
    const settings = { ...defaultSettings, ...options.settings };
    this.name = name;
    this.#opened = opened;
    this.#log = log;
    this.#onFailure = options.onFailure;
    this.#notifiedSeq = opened.head.current.updateSeq;
    const snapshots = new SnapshotRegister(clock, settings.snapshotMaxAgeMs, () => this.#upkeep.noteRelease());
    const { file, head, state, detached } = opened;
    this.#counters = options.counters ?? { databaseReads: { value: 0 }, databaseWrites: { value: 0 } };
    const reads = this.#counters.databaseReads;
    const source = { file, head, state, detached, reads, bodies: state.bodies.reader };
    this.#reader = new DatabaseReader(name, source, snapshots);
    const shared = { name, opened, snapshots, settings, clock, log, tasks, supports };
    this.#upkeep = new Upkeep({ ...shared, barrier: () => this.#barrier(), wake: () => this.#queue.wake() });
    this.#queue = new WriteQueue(opened, this.#upkeep, {
      groupBytes: settings.groupBytes,
      packFrom: settings.packFrom,
      onCommit: ({ updateSeq }) => this.#committed(updateSeq),
      onFailure: (error) => this.#failed(error),
    });
    this.#writer = new DatabaseWriter({
      name,
      queue: this.#queue,
      settings: opened.settings,
      hasher,
      log,
      guard: options.createGuard?.(this),
    });
  }

  /** For `openDatabase` only: recovery is done. Upkeep may begin, and drop `free`, which no state refers to. */
  endOpening(free: readonly PageNumber[]): void {
    this.#countedSeq = this.#reader.updateSeq;
    this.#upkeep.dropLater(free);
    this.#queue.endOpening();
  }

  /** For `openDatabase` only: keeps the lineage in the file. */
  setLineage(lineage: string): Promise<void> {
    return this.#writer.setLineage(lineage);
  }

  get uuid(): string {
    return this.#reader.uuid;
  }

  get epoch(): number {
    return this.#reader.epoch;
  }

  get instanceStartTime(): string {
    return this.#reader.instanceStartTime;
  }

  get updateSeq(): number {
    return this.#reader.updateSeq;
  }

  get purgeSeq(): number {
    return this.#reader.purgeSeq;
  }

  async info(): Promise<DatabaseInfo> {
    this.#mustBeOpen();
    const { compactRunning } = this;
    return { ...(await this.#reader.info()), compactRunning };
  }

  async origin(): Promise<DatabaseOrigin> {
    this.#mustBeOpen();
    return this.#reader.origin();
  }

  snapshot(): StateSnapshot {
    this.#mustBeOpen();
    return this.#reader.snapshot();
  }

  current(id: DocId): CurrentDocument | undefined {
    return this.#closed === undefined ? this.#reader.current(id) : undefined;
  }

  readLocal(id: DocId): MaybePromise<LocalDocument | undefined> {
    this.#mustBeOpen();
    return this.#reader.readLocal(id);
  }

  write(writes: readonly DocumentWrite[], options: WriteOptions): Promise<WriteOutcome[]> {
    return this.#writer.write(writes, options);
  }

  async upload(): Promise<AttachmentUpload> {
    this.#mustBeOpen();
    const { file, allocator, detached, head } = this.#opened;
    const { maxPageBytes } = head.current;
    const writePages = (pages: readonly Page[]) => this.#queue.writePages(pages);
    const dropPages = (pages: readonly PageNumber[]) => this.#upkeep.dropSoon(pages);
    return PageUpload.begin({ file, allocator, detached, maxPageBytes, writePages, dropPages });
  }

  writeDelayed(writes: readonly DocumentWrite[], user?: DatabaseUser): MaybePromise<void> {
    if (this.#closed !== undefined) throw this.#writer.refusal ?? closedError(this.name);
    return this.#writer.writeDelayed(writes, user);
  }

  writeLocal(
    id: DocId,
    rev: string | undefined,
    body: string | undefined,
    options: LocalWriteOptions,
  ): Promise<string> {
    return this.#writer.writeLocal(id, rev, body, options);
  }

  get security(): string {
    return this.#opened.settings.security;
  }

  setSecurity(json: string, right?: CommitRight): Promise<void> {
    return this.#writer.setSecurity(json, right);
  }

  get timeMarks(): readonly TimeMark[] {
    return this.#reader.timeMarks;
  }

  seqAt(seconds: number): number {
    return seqAt(this.timeMarks, seconds);
  }

  async resetTimes(): Promise<void> {
    this.#mustBeOpen();
    await this.#upkeep.resetTimes();
  }

  get revsLimit(): number {
    return this.#opened.settings.revsLimit;
  }

  setRevsLimit(limit: number, right?: CommitRight): Promise<void> {
    return this.#writer.setRevsLimit(limit, right);
  }

  async purge(revisions: ReadonlyMap<DocId, readonly RevId[]>, right?: CommitRight): Promise<PurgeOutcome> {
    if (this.compactRunning) await this.#upkeep.whenCompacted(PURGE_WAIT_MS);
    this.#mustNotCompact();
    return this.#writer.purge(revisions, right);
  }

  async purgeTombstones(ids: readonly DocId[], untilSeq: number): Promise<PurgeOutcome> {
    this.#mustNotCompact();
    return this.#writer.purgeTombstones(ids, untilSeq);
  }

  #mustNotCompact(): void {
    if (this.compactRunning) throw new DatabaseError('purge_during_compaction', 'purge_during_compaction');
  }

  get autoPurge(): string {
    return this.#opened.settings.autoPurge;
  }

  setAutoPurge(json: string, right?: CommitRight): Promise<void> {
    return this.#writer.setAutoPurge(json, right);
  }

  purgeNotes(): MaybePromise<string | undefined> {
    this.#mustBeOpen();
    return this.#reader.purgeNotes();
  }

  setPurgeNotes(text: string): Promise<void> {
    return this.#writer.setPurgeNotes(text);
  }

  async flush(): Promise<string> {
    await this.#writer.flush();
    return this.instanceStartTime;
  }

  get compactRunning(): boolean {
    return this.#upkeep.isCompacting;
  }

  async compact(): Promise<void> {
    this.#mustBeOpen();
    await this.#upkeep.compact();
  }

  async verify(onProgress: (done: number, total: number) => void = () => undefined): Promise<VerifyReport> {
    this.#mustBeOpen();
    return this.#upkeep.verify(onProgress);
  }

  onChange(listener: (updateSeq: number) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves when everything that was submitted to the queue before is committed. */
  #barrier(): Promise<void> {
    const barrier = new BarrierJob('relaxed');
    this.#queue.submit(barrier);
    return barrier.promise;
  }

  /** Closes in order: what was accepted is written and stored, and the file is released. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const reason = closedError(this.name);
    await Promise.all([this.#writer.close(reason), this.#upkeep.stop(reason)]);
    this.#upkeep.checkpoint().catch(() => undefined);
    await this.#queue.drain(reason);
    try {
      if (!this.#queue.hasFailed) await this.#upkeep.markClean().catch(ignoreFullMedium);
    } finally {
      this.#opened.cache.close();
      await this.#opened.file.close();
    }
  }

  /**
   * Ends without storing anything more, for a file that is being removed: from now on everything fails with
   * `storage_deleted`. Resolves after the commit that is under way; the file itself is left open.
   */
  discard(): Promise<void> {
    this.#closed ??= this.#discard();
    return this.#closed;
  }

  async #discard(): Promise<void> {
    const reason = new DatabaseError('storage_deleted', `The database ${this.name} was deleted.`);
    this.#writer.discard(reason);
    const aborted = this.#queue.abort(reason);
    await this.#upkeep.stop(reason);
    await aborted;
    this.#opened.cache.close();
  }

  #mustBeOpen(): void {
    const { refusal } = this.#writer;
    if (refusal !== undefined) throw refusal;
  }

  #committed(updateSeq: number): void {
    this.#upkeep.noteCommit();
    if (updateSeq === this.#notifiedSeq) return;
    this.#notifiedSeq = updateSeq;
    if (this.#countedSeq !== undefined) {
      this.#counters.databaseWrites.value += updateSeq - this.#countedSeq;
      this.#countedSeq = updateSeq;
    }
    for (const listener of this.#listeners) this.#notify(listener, updateSeq);
  }

  /** Notifies a listener. What was committed stays so, even if the listener fails. */
  #notify(listener: (updateSeq: number) => void, updateSeq: number): void {
    try {
      listener(updateSeq);
    } catch (error) {
      this.#log.error(`a listener to the changes of ${this.name} failed`, error);
    }
  }

  #failed(error: unknown): void {
    void this.#upkeep.stop(error);
    this.#upkeep.fail(error);
    // No one opens a deleted database again, even if it was deleted while it was being opened.
    if (!isDatabaseError(error, 'storage_deleted'))
      this.#log.error(`database ${this.name} has failed and will be opened again`, error);
    this.#onFailure(error);
  }
}

function closedError(name: string): DatabaseError {
  return new DatabaseError('storage_closed', `The database ${name} is closed. Open it again.`);
}

/** Ignores a full medium: if a file can't be marked as closed in order, the next opening finds out that nothing is missing. */
function ignoreFullMedium(error: unknown): void {
  if (!isDatabaseError(error, 'storage_full')) throw error;
}
