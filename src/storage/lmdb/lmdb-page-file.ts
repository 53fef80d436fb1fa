import { mkdir, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { DatabaseError } from '../../base/errors/database-error.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import { nextTurn, runCooperatively } from '../../base/shared/turn.ts';
import { assertCommit } from '../backend-checks.ts';
import { FileLife } from '../open-files.ts';
import type { Commit, JournalRecord, Opening, PageFile, PageNumber, PageStoreSupport } from '../page-store.ts';
import { storageClosed, storageDeleted, storageExists, storageFenced } from '../storage-errors.ts';
import { copyToFolder, type Generation, moveToNextGeneration, removeData } from './compaction.ts';
import {
  commitAs,
  currentEpoch,
  type Environment,
  enqueueHead,
  enqueueTruncation,
  type Ownership,
} from './environment.ts';
import { dataPath, hasCode } from './folder.ts';
import { JournalFile, type JournalFunctions } from './journal-file.ts';
import type { JournalSpan } from './journal-recovery.ts';
import { toDatabaseError, toReadError } from './lmdb-errors.ts';
import { encodeLongTexts, type PutValues } from './long-texts.ts';
import type { FileEnvironment, OpenEnvironments } from './open-environments.ts';

const NUMBERS_PER_BATCH = 1000;

/** Longer records go through LMDB, which writes off this thread. */
const MAX_APPENDED_LENGTH = 64 * 1024;

interface LmdbPageFileOptions {
  readonly name: string;
  readonly generation: Generation;
  readonly environments: OpenEnvironments;
  readonly ownership: Ownership;
  readonly support: PageStoreSupport;
  readonly functions: JournalFunctions;
  readonly onClosed: (file: LmdbPageFile) => void;
}

/**
 * One owner's handle of a file. Reads are synchronous, from LMDB's map. A commit that is only a short journal
 * record is appended to the journal file in the turn in which it is requested, since LMDB makes every commit wait for the
 * disk; all others run on LMDB's own thread. Either happens only if the epoch is still this owner's.
 *
 * Every commit through LMDB is durable when it resolves. One with a head, a record or a truncation first makes the
 * appended records durable, except those that it removes: so nothing survives a power cut without what came before it.
 */
export class LmdbPageFile implements PageFile {
  readonly name: string;
  readonly opening: Opening;
  readonly #support: PageStoreSupport;
  readonly #onClosed: (file: LmdbPageFile) => void;
  readonly #life = new FileLife();
  readonly #environments: OpenEnvironments;
  readonly #folder: string;
  #generation: number;
  #environment: FileEnvironment;
  #dataPath: string;
  readonly #journal: JournalFile;
  readonly #earlier: readonly JournalSpan[];
  /** Numbers of the journal records that lie in LMDB, ascending. */
  #inEnvironment: number[];
  #nextJournal: number;
  #truncated: number;
  #lastCommit: Promise<void> | undefined;
  #compacting: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor({ name, generation, environments, ownership, support, functions, onClosed }: LmdbPageFileOptions) {
    this.name = name;
    this.opening = ownership.opening;
    this.#support = support;
    this.#onClosed = onClosed;
    const { folder, number, environment } = generation;
    this.#environments = environments;
    this.#folder = folder;
    this.#generation = number;
    this.#dataPath = dataPath(folder, number);
    this.#environment = environments.add(name, this.#dataPath, environment);
    const { truncated, kept, spans, inEnvironment } = ownership.journal;
    this.#journal = new JournalFile({ file: name, folder, epoch: this.opening.epoch, functions, kept });
    this.#earlier = spans;
    this.#inEnvironment = [...inEnvironment];
    this.#nextJournal = this.opening.nextJournal;
    this.#truncated = truncated;
  }

  read(page: PageNumber, kind: 'text'): string | undefined;
  read(page: PageNumber, kind: 'bytes'): Uint8Array | undefined;
  read(page: PageNumber, kind: 'text' | 'bytes'): string | Uint8Array | undefined {
    this.#life.mustBeOpen();
    try {
      const { text, bytes } = this.#environment.now;
      if (kind === 'text') return text.get(page);
      const value = bytes.get(page);
      // lmdb-js returns a Buffer with its own copy; this has the same bytes in the type that every backend returns:
      return value && new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    } catch (error) {
      throw this.#readError(error);
    }
  }

  readRange(page: PageNumber, offset: number, length: number): Uint8Array | undefined {
    this.#life.mustBeOpen();
    try {
      // Valid until the next read only, hence the copy.
      const value = this.#environment.now.bytes.getBinaryFast(page);
      return value && Uint8Array.prototype.slice.call(value, offset, offset + length);
    } catch (error) {
      throw this.#readError(error);
    }
  }

  async commit(commit: Commit): Promise<void> {
    this.#life.beginOperation();
    try {
      while (this.#compacting !== undefined) await this.#compacting.catch(() => undefined);
      assertCommit(commit, this.#nextJournal, this.#support.maxPageBytes);
      if (this.#lastCommit !== undefined) await this.#lastCommit.catch(() => undefined);
      const appended = appendedRecord(commit);
      if (appended === undefined) await this.#begin(commit);
      else await this.#append(appended, commit.durability);
    } finally {
      this.#life.endOperation();
    }
  }

  append(record: JournalRecord): MaybePromise<boolean> {
    this.#life.mustBeOpen();
    const isFree = this.#compacting === undefined && this.#lastCommit === undefined;
    if (!isFree || record.text.length > MAX_APPENDED_LENGTH) return false;
    assertCommit({ durability: 'relaxed', journal: record }, this.#nextJournal, this.#support.maxPageBytes);
    try {
      this.#appendNow(record);
      return true;
    } catch (error) {
      return this.#named(error, 'a commit').then((named) => Promise.reject(named));
    }
  }

  async *pageNumbers(from: PageNumber): AsyncIterable<readonly PageNumber[]> {
    let start = from;
    for (;;) {
      this.#life.mustBeOpen();
      const numbers = this.#numbersFrom(start);
      const last = numbers.at(-1);
      if (last === undefined) return;
      yield numbers;
      start = last + 1;
    }
  }

  /** One batch at a time, so that no cursor stays open while the caller works. */
  #numbersFrom(start: PageNumber): PageNumber[] {
    try {
      return [...this.#environment.now.text.getKeys({ start, limit: NUMBERS_PER_BATCH })];
    } catch (error) {
      throw this.#readError(error);
    }
  }

  async isCurrent(): Promise<boolean> {
    this.#life.mustBeOpen();
    this.#mustBeThere();
    return this.#isOwner();
  }

  async size(): Promise<number> {
    this.#life.mustBeOpen();
    const path = this.#dataPath;
    try {
      return (await stat(path)).size + this.#journal.bytes;
    } catch (error) {
      // A compaction that ended meanwhile has removed the former generation's data.
      if (hasCode(error, 'ENOENT') && path !== this.#dataPath) return this.size();
      throw hasCode(error, 'ENOENT') ? this.#deleted() : await this.#named(error, 'measuring it');
    }
  }

  compact(): Promise<void> {
    this.#compacting ??= this.#compact().finally(() => {
      this.#compacting = undefined;
    });
    return this.#compacting;
  }

  async backup(targetFolder: string): Promise<void> {
    this.#life.beginOperation();
    try {
      await mkdir(dirname(targetFolder), { recursive: true });
      await mkdir(targetFolder);
      await this.#copyTo(targetFolder);
    } catch (error) {
      throw hasCode(error, 'EEXIST') ? storageExists(targetFolder) : await this.#named(error, 'its backup');
    } finally {
      this.#life.endOperation();
    }
  }

  close(): Promise<void> {
    this.#life.refuse(() => storageClosed(`File "${this.name}"`));
    this.#closing ??= this.#release();
    return this.#closing;
  }

  /** Closes the file for the store that is about to remove it. */
  discard(): Promise<void> {
    this.#deleted();
    return this.close();
  }

  async #append(record: JournalRecord, durability: Commit['durability']): Promise<void> {
    try {
      this.#appendNow(record);
      if (durability === 'strict') await this.#journal.sync();
      // The writer's next commit can then include what else has arrived in this turn of the event loop.
      else await nextTurn();
    } catch (error) {
      throw await this.#named(error, 'a commit');
    }
  }

  #appendNow(record: JournalRecord): void {
    if (!this.#isOwner()) throw storageFenced(this.name);
    const { isRemoved } = this.#journal;
    if (isRemoved === undefined) this.#mustBeThere();
    else if (isRemoved) throw this.#deleted();
    this.#journal.append(record);
    this.#nextJournal += 1;
  }

  async #begin(commit: Commit): Promise<void> {
    const written = this.#write(commit);
    this.#lastCommit = written;
    try {
      await written;
    } finally {
      this.#lastCommit = undefined;
    }
  }

  async #write(commit: Commit): Promise<void> {
    const { epoch } = this.opening;
    let isOwner: boolean;
    try {
      await this.#syncBefore(commit);
      const values = await runCooperatively(encodeLongTexts(commit));
      isOwner = await this.#environment.commit((environment) =>
        commitAs(environment, epoch, () => this.#enqueue(environment, commit, values)),
      );
    } catch (error) {
      throw await this.#named(error, 'a commit');
    }
    // A file in a removed folder stays open without a name; nothing in it can be guaranteed to last.
    this.#mustBeThere();
    if (!isOwner) throw storageFenced(this.name);
    if (commit.journal !== undefined) {
      this.#inEnvironment.push(commit.journal.number);
      this.#nextJournal += 1;
    }
    if (commit.truncateJournal !== undefined) await this.#removeBelow(commit.truncateJournal);
  }

  /** Syncs records before a commit. Pages alone may survive a power cut without the records before them: nothing refers to them then. */
  async #syncBefore({ durability, journal, head, truncateJournal }: Commit): Promise<void> {
    if (journal !== undefined) this.#journal.mustBeSound();
    const isAlone = journal === undefined && head === undefined && truncateJournal === undefined;
    if (isAlone && durability === 'relaxed') return;
    if (this.#journal.hasUnsynced(truncateJournal ?? 0)) await this.#journal.sync();
  }

  #enqueue(environment: Environment, commit: Commit, { record, pages }: PutValues): void {
    const { text, bytes, journal, journalBytes } = environment;
    if (commit.journal !== undefined && record !== undefined) {
      if (typeof record === 'string') void journal.put(commit.journal.number, record);
      else void journalBytes.put(commit.journal.number, record);
    }
    for (const { number, value } of pages) {
      if (typeof value === 'string') void text.put(number, value);
      else void bytes.put(number, value);
    }
    for (const number of commit.dropPages ?? []) void text.remove(number);
    if (commit.head !== undefined) enqueueHead(environment, commit.head);
    const below = commit.truncateJournal ?? 0;
    // The record of this very commit, too, if it is below.
    const inEnvironment = commit.journal ? [...this.#inEnvironment, commit.journal.number] : this.#inEnvironment;
    for (const number of inEnvironment) if (number < below) void journal.remove(number);
    if (below > this.#truncated) enqueueTruncation(environment, this.opening.epoch, this.#marks(below));
  }

  #marks(truncated: number): { readonly start: number; readonly truncated: number; readonly earlier: JournalSpan[] } {
    const earlier = this.#earlier.filter(({ end }) => end > truncated);
    return { start: this.opening.nextJournal, truncated, earlier };
  }

  async #removeBelow(below: number): Promise<void> {
    this.#truncated = Math.max(this.#truncated, below);
    this.#inEnvironment = this.#inEnvironment.filter((number) => number >= below);
    await this.#journal.truncate(below);
  }

  async #compact(): Promise<void> {
    this.#life.beginOperation();
    try {
      await this.#lastCommit?.catch(() => undefined);
      this.#mustBeThere();
      const former = { environment: this.#environment, path: this.#dataPath };
      const next = await former.environment.during((environment) => {
        const old = { folder: this.#folder, number: this.#generation, environment };
        return moveToNextGeneration(this.name, old, this.opening.epoch);
      });
      if (next === undefined) throw storageFenced(this.name);
      this.#generation = next.number;
      this.#dataPath = dataPath(this.#folder, next.number);
      this.#environment = this.#environments.add(this.name, this.#dataPath, next.environment);
      await former.environment.close();
      await removeData(former.path);
    } catch (error) {
      // Another owner removes what it finds of an unfinished compaction.
      throw hasCode(error, 'ENOENT') && !this.#isOwner()
        ? storageFenced(this.name)
        : await this.#named(error, 'its compaction');
    } finally {
      this.#life.endOperation();
    }
  }

  async #copyTo(targetFolder: string): Promise<void> {
    try {
      await this.#environment.during((environment) => copyToFolder(environment, this.#folder, targetFolder));
    } catch (error) {
      await rm(targetFolder, { recursive: true, force: true });
      throw error;
    }
  }

  async #release(): Promise<void> {
    await this.#life.whenIdle();
    try {
      await this.#journal.close();
    } catch (error) {
      throw await this.#named(error, 'closing it');
    } finally {
      await this.#environment.close();
      this.#onClosed(this);
    }
  }

  #isOwner(): boolean {
    return currentEpoch(this.name, this.#environment.now) === this.opening.epoch;
  }

  #mustBeThere(): void {
    if (!this.#environment.isThere) throw this.#deleted();
  }

  #deleted(): DatabaseError {
    this.#life.refuse(() => storageDeleted(this.name));
    return storageDeleted(this.name);
  }

  #readError(error: unknown): DatabaseError {
    this.#environment.endReads();
    return toReadError(error, this.name);
  }

  #named(error: unknown, what: string): Promise<DatabaseError> {
    return toDatabaseError(error, this.name, what, this.#folder);
  }
}

/** Returns the record of a commit that is only one short record. */
function appendedRecord({ journal, writePages, dropPages, head, truncateJournal }: Commit): JournalRecord | undefined {
  if (journal === undefined || journal.text.length > MAX_APPENDED_LENGTH) return undefined;
  const isAlone = head === undefined && truncateJournal === undefined && !writePages?.length && !dropPages?.length;
  return isAlone ? journal : undefined;
}
