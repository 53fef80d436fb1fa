import { statSync } from 'node:fs';
import { mkdir, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { DatabaseError } from '../../errors/database-error.ts';
import { assertCommit } from '../commit-check.ts';
import { FileLife } from '../file-life.ts';
import type { Commit, Opening, PageFile, PageNumber, PageStoreSupport } from '../page-store.ts';
import { storageClosed, storageDeleted, storageExists, storageFenced } from '../storage-errors.ts';
import { copyEnvironment, type Generation, moveToNextGeneration, removeData } from './compaction.ts';
import { commitAs, currentEpoch, type Environment, enqueueFloor, enqueueHead, type Ownership } from './environment.ts';
import { dataPath, hasCode } from './folder.ts';
import { toDatabaseError } from './lmdb-errors.ts';

const NUMBERS_PER_BATCH = 1000;

export interface LmdbPageFileParts {
  readonly name: string;
  readonly generation: Generation;
  readonly ownership: Ownership;
  readonly support: PageStoreSupport;
  readonly onClosed: (file: LmdbPageFile) => void;
}

/**
 * One owner's handle of a file. Reads are synchronous, from LMDB's map; commits run on LMDB's own thread, each under
 * the condition that the epoch is still this owner's.
 */
export class LmdbPageFile implements PageFile {
  readonly name: string;
  readonly opening: Opening;
  readonly #support: PageStoreSupport;
  readonly #onClosed: (file: LmdbPageFile) => void;
  readonly #life = new FileLife();
  #generation: Generation;
  #dataPath: string;
  #inode: number;
  /** The first journal number that may hold a record. */
  #firstJournal: number;
  #nextJournal: number;
  #journalFloor: number;
  #lastCommit: Promise<void> | undefined;
  #compacting: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor({ name, generation, ownership, support, onClosed }: LmdbPageFileParts) {
    this.name = name;
    this.opening = ownership;
    this.#support = support;
    this.#onClosed = onClosed;
    this.#generation = generation;
    this.#dataPath = dataPath(generation.folder, generation.number);
    this.#inode = statSync(this.#dataPath).ino;
    this.#firstJournal = ownership.journal[0]?.number ?? ownership.nextJournal;
    this.#nextJournal = ownership.nextJournal;
    this.#journalFloor = ownership.nextJournal;
  }

  read(page: PageNumber, kind: 'text'): string | undefined;
  read(page: PageNumber, kind: 'bytes'): Uint8Array | undefined;
  read(page: PageNumber, kind: 'text' | 'bytes'): string | Uint8Array | undefined {
    this.#life.mustBeOpen();
    const { text, bytes } = this.#generation.environment;
    if (kind === 'text') return text.get(page);
    const value = bytes.get(page);
    // lmdb-js gives a Buffer with a copy of its own; the same bytes as what every backend gives:
    return value && new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  }

  readRange(page: PageNumber, offset: number, length: number): Uint8Array | undefined {
    this.#life.mustBeOpen();
    // Valid until the next read only, hence the copy.
    const value = this.#generation.environment.bytes.getBinaryFast(page);
    return value && Uint8Array.prototype.slice.call(value, offset, offset + length);
  }

  async commit(commit: Commit): Promise<void> {
    this.#life.begin();
    try {
      while (this.#compacting !== undefined) await this.#compacting.catch(() => undefined);
      assertCommit(commit, this.#nextJournal, this.#support.maxPageBytes);
      this.#lastCommit = this.#write(commit);
      await this.#lastCommit;
    } finally {
      this.#life.done();
    }
  }

  async *pageNumbers(from: PageNumber): AsyncIterable<readonly PageNumber[]> {
    let start = from;
    for (;;) {
      this.#life.mustBeOpen();
      // One batch at a time, so that no cursor stays open while the caller works.
      const numbers = [...this.#generation.environment.text.getKeys({ start, limit: NUMBERS_PER_BATCH })];
      const last = numbers.at(-1);
      if (last === undefined) return;
      yield numbers;
      start = last + 1;
    }
  }

  async isCurrent(): Promise<boolean> {
    this.#life.mustBeOpen();
    this.#mustBeThere();
    return this.#isOwner();
  }

  async size(): Promise<number> {
    this.#life.mustBeOpen();
    try {
      return (await stat(this.#dataPath)).size;
    } catch (error) {
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
    this.#life.begin();
    try {
      await mkdir(dirname(targetFolder), { recursive: true });
      await mkdir(targetFolder);
      await this.#copyTo(targetFolder);
    } catch (error) {
      throw hasCode(error, 'EEXIST') ? storageExists(targetFolder) : await this.#named(error, 'its backup');
    } finally {
      this.#life.done();
    }
  }

  close(): Promise<void> {
    this.#life.end(() => storageClosed(`File "${this.name}"`));
    this.#closing ??= this.#release();
    return this.#closing;
  }

  /** For the store that is about to remove the file. */
  abandon(): Promise<void> {
    this.#deleted();
    return this.close();
  }

  async #write(commit: Commit): Promise<void> {
    const { environment } = this.#generation;
    const { epoch } = this.opening;
    let isOwner: boolean;
    try {
      isOwner = await commitAs(environment, epoch, () => this.#enqueue(environment, commit));
      if (isOwner && commit.durability === 'strict') await environment.root.flushed;
    } catch (error) {
      throw await this.#named(error, 'a commit');
    }
    // A folder that was removed goes on as a nameless file; nothing in it may be promised to last.
    this.#mustBeThere();
    if (!isOwner) throw storageFenced(this.name);
    if (commit.journal !== undefined) this.#nextJournal += 1;
    if (commit.truncateJournal !== undefined) this.#truncated(commit.truncateJournal);
  }

  #enqueue(environment: Environment, commit: Commit): void {
    const { text, bytes, journal } = environment;
    if (commit.journal !== undefined) void journal.put(commit.journal.number, commit.journal.text);
    for (const { number, value } of commit.writePages ?? []) {
      if (typeof value === 'string') void text.put(number, value);
      else void bytes.put(number, value);
    }
    for (const number of commit.dropPages ?? []) void text.remove(number);
    if (commit.head !== undefined) enqueueHead(environment, commit.head);
    const below = commit.truncateJournal ?? 0;
    for (let number = this.#firstJournal; number < below; number += 1) void journal.remove(number);
    if (below > this.#journalFloor) enqueueFloor(environment, this.opening.epoch, below);
  }

  #truncated(below: number): void {
    this.#firstJournal = Math.max(this.#firstJournal, below);
    this.#journalFloor = Math.max(this.#journalFloor, below);
  }

  async #compact(): Promise<void> {
    this.#life.begin();
    try {
      await this.#lastCommit?.catch(() => undefined);
      this.#mustBeThere();
      const old = this.#generation;
      const next = await moveToNextGeneration(this.name, old, this.opening.epoch);
      if (next === undefined) throw storageFenced(this.name);
      this.#generation = next;
      this.#dataPath = dataPath(next.folder, next.number);
      this.#inode = statSync(this.#dataPath).ino;
      await old.environment.root.close();
      await removeData(dataPath(old.folder, old.number));
    } catch (error) {
      // Another owner takes what it finds of an unfinished compaction away.
      throw hasCode(error, 'ENOENT') && !this.#isOwner()
        ? storageFenced(this.name)
        : await this.#named(error, 'its compaction');
    } finally {
      this.#life.done();
    }
  }

  async #copyTo(targetFolder: string): Promise<void> {
    try {
      await copyEnvironment(this.#generation.environment, dataPath(targetFolder, 1));
    } catch (error) {
      await rm(targetFolder, { recursive: true, force: true });
      throw error;
    }
  }

  async #release(): Promise<void> {
    await this.#life.idle();
    try {
      await this.#generation.environment.root.flushed;
    } finally {
      await this.#generation.environment.root.close();
      this.#onClosed(this);
    }
  }

  #isOwner(): boolean {
    return currentEpoch(this.name, this.#generation.environment) === this.opening.epoch;
  }

  #mustBeThere(): void {
    if (statSync(this.#dataPath, { throwIfNoEntry: false })?.ino !== this.#inode) throw this.#deleted();
  }

  #deleted(): DatabaseError {
    this.#life.end(() => storageDeleted(this.name));
    return storageDeleted(this.name);
  }

  #named(error: unknown, what: string): Promise<DatabaseError> {
    return toDatabaseError(error, this.name, what, this.#generation.folder);
  }
}
