import { stat } from 'node:fs/promises';
import type { Transaction } from 'lmdb';
import { DatabaseError } from '../../../base/errors/database-error.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import { nextTurn } from '../../../base/shared/turn.ts';
import { FileLife } from '../../open-files.ts';
import type { FollowedFile, FollowedPoint, FollowedState, JournalRecord, PageNumber } from '../../page-store.ts';
import { journalDamaged, storageClosed, storageDeleted, storageFailed } from '../../storage-errors.ts';
import { type Environment, readFollowedJournal, readMark } from '../environment.ts';
import { dataPath, hasCode } from '../folder.ts';
import { findSegments, loadSegments } from '../journal-segment.ts';
import { isLackOfReaders, toDatabaseError, toReadError } from '../lmdb-errors.ts';
import type { FileEnvironment, OpenEnvironments } from '../open-environments.ts';
import { decodeOwner } from '../owner-record.ts';
import type { FollowedFolder } from './followed-folder.ts';
import { Holds } from './holds.ts';
import { JournalTail } from './journal-tail.ts';

/** A poll begins again if the owner's record or the head changes while it reads the journal, which each lasts for a commit that waits for the disk. */
const ATTEMPTS_PER_TURN = 4;
const MAX_TURNS = 100;
/** A record that can't be read may be one that is being written, if the system shows its parts in another order. */
const MAX_DAMAGED_TURNS = 4;

/** Why a poll has no state yet. */
type Obstacle = 'changed' | { readonly movedTo: number | undefined } | DatabaseError;

interface LmdbFollowedFileOptions {
  readonly folder: FollowedFolder;
  readonly environments: OpenEnvironments;
  readonly maxHolds: number | undefined;
  readonly onClosed: (file: LmdbFollowedFile) => void;
}

/**
 * A file as one that does not own it sees it. A poll compares the owner's record and the head in a new read transaction with those it knows, and
 * reads what was appended to the journal. A hold is a read transaction. Nothing here writes, and the owner needs to know nothing of it.
 */
export class LmdbFollowedFile implements FollowedFile {
  readonly name: string;
  readonly #folder: FollowedFolder;
  readonly #environments: OpenEnvironments;
  readonly #onClosed: (file: LmdbFollowedFile) => void;
  readonly #life = new FileLife();
  readonly #holds: Holds;
  #environment: FileEnvironment | undefined;
  #dataPath: string | undefined;
  #tail: JournalTail | undefined;
  #moving: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor({ folder, environments, maxHolds, onClosed }: LmdbFollowedFileOptions) {
    this.name = folder.file;
    this.#folder = folder;
    this.#environments = environments;
    this.#holds = new Holds(maxHolds);
    this.#onClosed = onClosed;
  }

  /**
   * Opens the generation that holds the file now. States that are held of a former one stay.
   *
   * @param expected the generation that it was moved to, if that is known.
   */
  move(expected?: number): Promise<void> {
    this.#moving ??= this.#move(expected).finally(() => {
      this.#moving = undefined;
    });
    return this.#moving;
  }

  poll(since?: FollowedPoint, renews = false): MaybePromise<FollowedState | undefined> {
    return this.#pollFrom(1, since, renews);
  }

  read(page: PageNumber, kind: 'text'): MaybePromise<string | undefined>;
  read(page: PageNumber, kind: 'bytes'): MaybePromise<Uint8Array | undefined>;
  read(page: PageNumber, kind: 'text' | 'bytes'): MaybePromise<string | Uint8Array | undefined> {
    return kind === 'text'
      ? this.#find(({ text }, options) => text.get(page, options))
      : this.#find(({ bytes }, options) => {
          const value = bytes.get(page, options);
          return value && new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
        });
  }

  readRange(page: PageNumber, offset: number, length: number): MaybePromise<Uint8Array | undefined> {
    return this.#find(({ bytes }, options) => {
      // Valid until the next read only, hence the copy.
      const value = getBinaryFast(bytes, page, options);
      return value && Uint8Array.prototype.slice.call(value, offset, offset + length);
    });
  }

  async size(): Promise<number> {
    this.#life.mustBeOpen();
    const path = this.#dataPath;
    try {
      if (path === undefined) throw storageDeleted(this.name);
      const paths = [path, ...findSegments(this.#folder.path).map((segment) => segment.path)];
      const sizes = await Promise.all(paths.map(async (each) => (await stat(each)).size));
      return sizes.reduce((sum, size) => sum + size, 0);
    } catch (error) {
      this.#mustBeThere();
      if (!hasCode(error, 'ENOENT')) throw await this.#named(error, 'measuring it');
      // The owner has compacted it, or begun another segment of its journal.
      await this.move();
      return this.size();
    }
  }

  close(): Promise<void> {
    this.#life.refuse(() => storageClosed(`File "${this.name}"`));
    this.#closing ??= this.#release();
    return this.#closing;
  }

  /** Closes the file for the store that is about to remove it. */
  discard(): Promise<void> {
    this.#life.refuse(() => storageDeleted(this.name));
    return this.close();
  }

  #pollFrom(turn: number, since: FollowedPoint | undefined, renews: boolean): MaybePromise<FollowedState | undefined> {
    let obstacle: Obstacle = 'changed';
    for (let attempt = 0; attempt < ATTEMPTS_PER_TURN && obstacle === 'changed'; attempt++) {
      this.#mustBeThere();
      const state = this.#tryPoll(since, renews);
      if (state === undefined || (typeof state === 'object' && 'release' in state)) return state;
      obstacle = state;
    }
    if (turn === MAX_TURNS || (obstacle instanceof DatabaseError && turn >= MAX_DAMAGED_TURNS)) {
      throw obstacle instanceof DatabaseError
        ? obstacle
        : storageFailed(this.name, 'reading it', new Error('its owner changed it all the time'));
    }
    const passed = obstacle !== 'changed' && 'movedTo' in obstacle ? this.move(obstacle.movedTo) : nextTurn();
    return passed.then(() => this.#pollFrom(turn + 1, since, renews));
  }

  #tryPoll(since: FollowedPoint | undefined, renews: boolean): FollowedState | undefined | Obstacle {
    try {
      if (this.#mustMove()) return { movedTo: undefined };
      const tail = this.#tail;
      if (since === undefined || tail === undefined || !tail.isAt(since)) return this.#readWhole(since, renews);
      const next = this.#readNext(tail);
      if (next !== undefined) return next.length === 0 && !renews ? undefined : this.#stateOf(tail.point, true, next);
      // It has read on already.
      this.#endTail();
      return this.#readWhole(since, renews);
    } catch (error) {
      // What it has read on may be lost.
      this.#endTail();
      if (isLackOfReaders(error) && this.#holds.giveUpOldest()) return 'changed';
      throw this.#readError(error);
    }
  }

  #readNext(tail: JournalTail): JournalRecord[] | undefined {
    return tail.readNext(() => {
      const environment = this.#now();
      return tail.isCurrent(readMark(this.name, environment)) ? environment : undefined;
    });
  }

  #readWhole(since: FollowedPoint | undefined, renews: boolean): FollowedState | undefined | Obstacle {
    const environment = this.#now();
    const mark = readMark(this.name, environment);
    const owner = decodeOwner(this.name, mark.owner, mark.epoch);
    if (owner.movedTo !== undefined) return { movedTo: owner.movedTo };
    const loaded = loadSegments(this.#folder.path);
    const after = readMark(this.name, environment);
    if (after.owner !== mark.owner || after.epoch !== mark.epoch || after.head !== mark.head) return 'changed';
    const journal = readFollowedJournal(environment, owner, mark.epoch, loaded);
    if (journal.damage !== undefined) return journalDamaged(this.name, journal.damage.number, journal.damage.place);
    const continues = since !== undefined && since.epoch === mark.epoch && since.head === mark.head;
    const known = continues ? since.record : 0;
    const records = journal.records.filter(({ number }) => number > known);
    const last = records.at(-1)?.number ?? known;
    this.#endTail();
    this.#tail = new JournalTail({ folder: this.#folder.path, mark, owner, journal, last });
    if (continues && records.length === 0 && !renews) return undefined;
    return this.#stateOf(this.#tail.point, continues, records);
  }

  /** Only in the turn, and with the transaction, in which the records were read. */
  #stateOf(point: FollowedPoint, continues: boolean, records: readonly JournalRecord[]): FollowedState {
    return { point, continues, records, release: this.#holds.hold(this.#present()) };
  }

  /** Calls `read` with this turn's transaction, with those that are held, and with a new one, until it returns something. */
  #find<T>(
    read: (environment: Environment, options: { readonly transaction?: Transaction }) => T | undefined,
  ): MaybePromise<T | undefined> {
    this.#life.mustBeOpen();
    try {
      if (this.#mustMove()) return this.move().then(() => this.#find(read));
      const environment = this.#now();
      const found = read(environment, {}) ?? this.#holds.find((held, transaction) => read(held, { transaction }));
      if (found !== undefined) return found;
      // This turn's transaction may have begun before the page was written.
      environment.root.resetReadTxn();
      return read(environment, {});
    } catch (error) {
      if (isLackOfReaders(error) && this.#holds.giveUpOldest()) return this.#find(read);
      throw this.#readError(error);
    }
  }

  #present(): FileEnvironment {
    if (this.#environment === undefined) throw storageDeleted(this.name);
    return this.#environment;
  }

  #now(): Environment {
    return this.#present().now;
  }

  /** Whether the environment was closed for a while, and its data file is no longer that of the file. */
  #mustMove(): boolean {
    return this.#environment === undefined || (!this.#environment.isOpen && !this.#environment.isThere);
  }

  async #move(expected: number | undefined): Promise<void> {
    try {
      const { number, environment } = await this.#folder.openGeneration(expected);
      if (!this.#life.isOpen) await environment.root.close();
      this.#life.mustBeOpen();
      const path = dataPath(this.#folder.path, number);
      const former = this.#environment;
      this.#environment = this.#environments.add(this.name, path, environment, true);
      this.#dataPath = path;
      former?.retire();
    } catch (error) {
      this.#mustBeThere();
      throw await this.#named(error, 'following it');
    }
  }

  #mustBeThere(): void {
    this.#life.mustBeOpen();
    if (this.#folder.isThere) return;
    this.#life.refuse(() => storageDeleted(this.name));
    this.#life.mustBeOpen();
  }

  #endTail(): void {
    this.#tail?.close();
    this.#tail = undefined;
  }

  async #release(): Promise<void> {
    await this.#moving?.catch(() => undefined);
    this.#holds.end();
    this.#endTail();
    try {
      await this.#environment?.close();
    } finally {
      this.#folder.close();
      this.#onClosed(this);
    }
  }

  #readError(error: unknown): DatabaseError {
    if (this.#environment?.isOpen) this.#environment.endReads();
    return toReadError(error, this.name);
  }

  #named(error: unknown, what: string): Promise<DatabaseError> {
    return toDatabaseError(error, this.name, what, this.#folder.path);
  }
}

/** The types of lmdb-js lack the options of this one. */
function getBinaryFast(
  bytes: Environment['bytes'],
  page: PageNumber,
  options: { readonly transaction?: Transaction },
): Uint8Array | undefined {
  const get: (page: PageNumber, options: { readonly transaction?: Transaction }) => Uint8Array | undefined =
    bytes.getBinaryFast;
  return get.call(bytes, page, options);
}
