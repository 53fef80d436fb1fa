/**
 * Runs what the documents of `_replicator` ask for (docs/http/replication.md#replication-documents): follows the database's changes, begins each
 * document that is not completed, ends those that are changed or deleted, and begins the changed ones again.
 */

import { isDatabaseError } from '../../base/errors/database-error.ts';
import type { JsonObject } from '../../base/json/objects.ts';
import { startBackgroundTimer } from '../../base/shared/clock.ts';
import { TimeSlice } from '../../base/shared/turn.ts';
import { REPLICATOR_DATABASE } from '../../base/system/contract.ts';
import type { Registry } from '../../database/registry/contract.ts';
import type { Database } from '../../database/store/contract.ts';
import type { ReplicationId } from '../jobs/replication-id.ts';
import { DocumentSemaphore } from './document-semaphore.ts';
import { hasPlainSecrets } from './secret-members.ts';
import { stateOf } from './state-members.ts';
import { documentBatches, type FoundDocument, findDocument, writeState } from './stored-documents.ts';
import { WatchedDocument, type WatchOptions } from './watched-document.ts';

/** Wait after a failure of the storage. */
const AGAIN_MS = 5_000;
const COULD_NOT_READ = `the database ${REPLICATOR_DATABASE} could not be read; next attempt in ${AGAIN_MS / 1_000} s`;

export interface DocumentsOptions
  extends Omit<
    WatchOptions,
    'write' | 'claim' | 'ended' | 'completed' | 'acquirePermit' | 'releasePermit' | 'giveWay'
  > {
  readonly registry: Pick<Registry, 'use' | 'has'>;
}

export class ReplicationDocuments {
  readonly #options: DocumentsOptions;
  readonly #watchParts: WatchOptions;
  /** Documents that are not completed, by their ids. */
  readonly #watched = new Map<string, WatchedDocument>();
  /** The document that has each replication, by the replication's full id. */
  readonly #holders = new Map<string, WatchedDocument>();
  /** The others that ask for a replication that has a holder. */
  readonly #duplicates = new Set<WatchedDocument>();
  readonly #semaphore: DocumentSemaphore;
  /** Runs that were stopped and have not ended yet, by the full ids of their replications: peers may take their time. */
  readonly #ending = new Map<string, Promise<void>>();
  /** The database that was read, and the sequence up to which it was read. */
  #read = { uuid: '', since: 0, purgeSeq: 0 };
  #isDue = false;
  #following: Promise<void> | undefined;
  #stopTimer: (() => void) | undefined;
  #isClosed = false;

  constructor(options: DocumentsOptions) {
    this.#options = options;
    const semaphore = new DocumentSemaphore(options.settings);
    this.#semaphore = semaphore;
    this.#watchParts = {
      ...options,
      write: (id, rev, state) => writeState(options.registry, id, rev, state),
      claim: (id, document) => this.#claim(id, document),
      ended: async ({ full }) => this.#ending.get(full),
      acquirePermit: (document, writer) => semaphore.tryAcquire(document, writer),
      releasePermit: (document) => semaphore.release(document),
      giveWay: (document) => void this.#beginAnew(document),
      completed: (document) => this.#forget(document),
    };
  }

  /** Returns a watched document: one that has not completed yet. */
  get(id: string): WatchedDocument | undefined {
    return this.#watched.get(id);
  }

  /** Reads soon what has changed since the last time. Call it when the service begins, and whenever the database has changed. */
  follow(): void {
    if (this.#isClosed) return;
    this.#isDue = true;
    this.#stopTimer?.();
    this.#following ??= this.#follow().finally(() => {
      this.#following = undefined;
    });
  }

  /** The network is back. */
  wake(): void {
    for (const document of this.#watched.values()) document.wake();
  }

  /** Begins nothing any more. Writes what is known of the replications so far; they themselves go on. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopTimer?.();
    this.#semaphore.clear();
    await this.#following;
    await Promise.all([...this.#watched.values()].map((document) => document.flush()));
  }

  async #follow(): Promise<void> {
    while (this.#isDue && !this.#isClosed) {
      this.#isDue = false;
      try {
        await this.#readChanges();
      } catch (failure) {
        this.#tryLater(failure);
      }
    }
  }

  #tryLater(failure: unknown): void {
    if (this.#isClosed || isDatabaseError(failure, 'shutting_down')) return;
    const { log } = this.#options;
    if (isDatabaseError(failure)) log.info(`${COULD_NOT_READ}: ${failure.message}`);
    else log.error(COULD_NOT_READ, failure);
    this.#stopTimer = startBackgroundTimer(AGAIN_MS, () => this.follow());
  }

  async #readChanges(): Promise<void> {
    const { registry } = this.#options;
    if (!registry.has(REPLICATOR_DATABASE)) {
      this.#endAll();
      return;
    }
    await registry.use(REPLICATOR_DATABASE, async (database) => {
      if (database.uuid !== this.#read.uuid) this.#endAll();
      const { purgeSeq } = database;
      // A purge leaves no change in the feed.
      const isWhole = purgeSeq !== this.#read.purgeSeq || database.updateSeq < this.#read.since;
      this.#read = { uuid: database.uuid, since: isWhole ? 0 : this.#read.since, purgeSeq };
      const seen = await this.#readSince(database);
      if (isWhole) this.#endUnseen(seen);
    });
  }

  /** Returns the ids of the documents that it saw. */
  async #readSince(database: Database): Promise<ReadonlySet<string>> {
    const snapshot = database.snapshot();
    const seen = new Set<string>();
    const timeSlice = new TimeSlice();
    try {
      for await (const rows of snapshot.changes({ since: this.#read.since })) {
        const ids = rows.map(({ id }) => id);
        for await (const found of documentBatches(snapshot, ids)) {
          // Documents that have a replication already keep it.
          for (const document of found.toSorted((one, other) => rank(one) - rank(other))) {
            if (this.#isClosed) return seen;
            seen.add(document.id);
            await this.#compare(database, document);
            if (timeSlice.isDue) await timeSlice.rest();
          }
        }
        const last = rows.at(-1);
        if (last !== undefined) this.#read = { ...this.#read, since: last.seq };
      }
      return seen;
    } finally {
      snapshot.release();
    }
  }

  #endUnseen(seen: ReadonlySet<string>): void {
    for (const [id, document] of this.#watched) if (!seen.has(id)) this.#end(document);
  }

  /** Checks whether the document is still the watched revision, and begins again if it is not. */
  async #compare(database: Database, found: FoundDocument): Promise<void> {
    const watched = this.#watched.get(found.id);
    if (watched === undefined) return this.#begin(found);
    await watched.settled();
    const now = await findDocument(database, found.id);
    // It may have completed in the meantime.
    const isWatched = this.#watched.get(found.id) === watched;
    if (isWatched && now?.rev === watched.rev) return;
    if (isWatched && now !== undefined && (await watched.adopt(now))) return;
    if (this.#watched.get(found.id) === watched) this.#end(watched);
    // It may have begun again in the meantime.
    if (this.#watched.has(found.id)) return;
    if (now !== undefined) await this.#begin(now, watched);
  }

  /** `predecessor`: the same document at an earlier revision. */
  async #begin(found: FoundDocument, predecessor?: WatchedDocument): Promise<void> {
    const { document } = found;
    if (document === undefined) return;
    if (this.#options.secrets.isPossible && (await hasPlainSecrets(document)) && (await this.#encrypt(found, document)))
      return;
    if (this.#isClosed || stateOf(document)._replication_state === 'completed' || this.#watched.has(found.id)) return;
    const watched = new WatchedDocument(found, document, this.#watchParts, predecessor);
    this.#watched.set(found.id, watched);
    watched.begin();
  }

  /**
   * Encrypts the secrets of a document that an earlier release has stored; the document then comes again, as another revision. Returns false
   * if that is not possible.
   */
  async #encrypt({ id, rev }: FoundDocument, document: JsonObject): Promise<boolean> {
    try {
      return (await writeState(this.#options.registry, id, rev, stateOf(document))) !== undefined;
    } catch (failure) {
      if (!isDatabaseError(failure)) throw failure;
      this.#options.log.info(
        `the secrets of the replication document ${id} could not be encrypted: ${failure.message}`,
      );
      return false;
    }
  }

  /** The document then waits for a permit. */
  async #beginAnew(document: WatchedDocument): Promise<void> {
    this.#end(document);
    await document.settled();
    const { registry, log } = this.#options;
    try {
      if (this.#isClosed || !registry.has(REPLICATOR_DATABASE)) return;
      const found = await registry.use(REPLICATOR_DATABASE, (database) => findDocument(database, document.id));
      // A change of it may have begun it already.
      if (found !== undefined && !this.#isClosed && !this.#watched.has(found.id)) await this.#begin(found);
    } catch (failure) {
      if (!isDatabaseError(failure, 'shutting_down'))
        log.error(
          `the replication document ${document.id} could not be read; its replication starts again when the document is changed`,
          failure,
        );
    }
  }

  #endAll(): void {
    this.#read = { uuid: '', since: 0, purgeSeq: 0 };
    this.#semaphore.clear();
    for (const document of this.#watched.values()) this.#stop(document);
    this.#watched.clear();
    this.#holders.clear();
    this.#duplicates.clear();
  }

  /** Another document that asks for the same replication takes it over. */
  #end(document: WatchedDocument): void {
    this.#forget(document);
    this.#stop(document);
    const full = document.replicationId?.full;
    if (full === undefined || this.#holders.has(full)) return;
    for (const other of this.#duplicates) {
      if (other.status === 'duplicate' && other.replicationId?.full === full) other.begin();
    }
  }

  #stop(document: WatchedDocument): void {
    const full = document.replicationId?.full;
    const stopped = document.stop();
    if (full === undefined) return;
    const ending: Promise<void> = stopped.finally(() => {
      if (this.#ending.get(full) === ending) this.#ending.delete(full);
    });
    this.#ending.set(full, ending);
  }

  #forget(document: WatchedDocument): void {
    if (this.#watched.get(document.id) === document) this.#watched.delete(document.id);
    this.#duplicates.delete(document);
    const full = document.replicationId?.full;
    if (full !== undefined && this.#holders.get(full) === document) this.#holders.delete(full);
    this.#semaphore.release(document);
  }

  #claim({ full }: ReplicationId, document: WatchedDocument): WatchedDocument {
    const holder = this.#holders.get(full) ?? document;
    this.#holders.set(full, holder);
    if (holder === document) this.#duplicates.delete(document);
    else this.#duplicates.add(document);
    return holder;
  }
}

function rank({ document }: FoundDocument): number {
  return document !== undefined && stateOf(document)._replication_state !== undefined ? 0 : 1;
}
