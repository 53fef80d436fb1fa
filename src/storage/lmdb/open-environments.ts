import { statSync } from 'node:fs';
import { AtMost } from '../../base/shared/at-most.ts';
import { storageDeleted } from '../storage-errors.ts';
import { closeEnvironment, type Environment, reopenEnvironment } from './environment.ts';

/**
 * LMDB takes 2.5 MB for each open environment, whatever is in it: page lists for a future transaction. So only some are
 * open at a time, and a process with many open files does not pay that for each. Opening one again takes half a millisecond.
 */
const MAX_OPEN = 24;

/** The environments of one store, of which at most `maxOpen` are open unless more are in use at the same time. */
export class OpenEnvironments {
  readonly #maxOpen: number;
  /** In the order of their last use. */
  readonly #open = new Set<FileEnvironment>();
  #lastUsed: FileEnvironment | undefined;
  readonly #commits: AtMost;

  constructor(maxOpen = MAX_OPEN) {
    this.#maxOpen = maxOpen;
    this.#commits = new AtMost(maxOpen);
  }

  /** Adds an open environment. `path` is that of its data file, and `file` what errors call it. */
  add(file: string, path: string, environment: Environment, readOnly = false): FileEnvironment {
    return new FileEnvironment(this, { file, path, inode: statSync(path).ino, readOnly }, environment);
  }

  /** Only for `FileEnvironment`. Runs as many commits at a time as there may be environments: LMDB executes fewer than that. */
  commit<T>(run: () => Promise<T>): Promise<T> {
    return this.#commits.run(run);
  }

  /** Only for `FileEnvironment`, whose environment is open. Closes the least recently used ones if there are too many. */
  noteUse(used: FileEnvironment): void {
    if (this.#lastUsed === used) return;
    this.#lastUsed = used;
    this.#open.delete(used);
    this.#open.add(used);
    if (this.#open.size <= this.#maxOpen) return;
    for (const environment of this.#open) {
      if (this.#open.size <= this.#maxOpen) return;
      if (environment !== used && environment.closeIfUnused()) this.#open.delete(environment);
    }
  }

  /** Only for `FileEnvironment`, which has closed its environment. */
  forget(closed: FileEnvironment): void {
    this.#open.delete(closed);
    if (this.#lastUsed === closed) this.#lastUsed = undefined;
  }
}

interface DataFilePlace {
  readonly file: string;
  readonly path: string;
  readonly inode: number;
  readonly readOnly: boolean;
}

/** The environment of an open file, sometimes closed while no one needs it. */
export class FileEnvironment {
  readonly #all: OpenEnvironments;
  readonly #place: DataFilePlace;
  #environment: Environment | undefined;
  #users = 0;
  #isRetired = false;
  /** While LMDB closes what was not used. */
  #closing: Promise<void> = Promise.resolve();

  constructor(all: OpenEnvironments, place: DataFilePlace, environment: Environment) {
    this.#all = all;
    this.#place = place;
    this.#environment = environment;
    all.noteUse(this);
  }

  /** Whether its data file still has its name. */
  get isThere(): boolean {
    return statSync(this.#place.path, { throwIfNoEntry: false })?.ino === this.#place.inode;
  }

  get isOpen(): boolean {
    return this.#environment !== undefined;
  }

  /** For use in this turn of the event loop. Opened again if it was closed; fails with `storage_deleted` if the data file is gone. */
  get now(): Environment {
    this.#environment ??= this.#reopen();
    this.#all.noteUse(this);
    return this.#environment;
  }

  #reopen(): Environment {
    if (!this.isThere) throw storageDeleted(this.#place.file);
    return reopenEnvironment(this.#place.path, this.#place.readOnly);
  }

  /** Keeps it open until `use` has ended. */
  async during<T>(use: (environment: Environment) => Promise<T>): Promise<T> {
    this.#users += 1;
    try {
      return await use(this.now);
    } finally {
      this.#users -= 1;
    }
  }

  /** Keeps it open until the returned function is called, which must be once. Only while it is open. */
  hold(): () => void {
    this.#users += 1;
    return () => {
      this.#users -= 1;
      if (this.#isRetired) this.retire();
    };
  }

  /** Closes it as soon as no one holds it. What it was opened for reading only. */
  retire(): void {
    this.#isRetired = true;
    if (this.#users === 0) void this.close().catch(() => undefined);
  }

  /** Like `during`, for a commit: if many files commit at a time, some wait for others. */
  commit<T>(run: (environment: Environment) => Promise<T>): Promise<T> {
    return this.#all.commit(() => this.during(run));
  }

  /** LMDB refuses every read of a transaction in which one has failed, even of sound pages; the next read begins another one. */
  endReads(): void {
    this.#environment?.root.resetReadTxn();
  }

  /** Returns false if it is in use. */
  closeIfUnused(): boolean {
    if (this.#users > 0) return false;
    // What was committed is on the disk already, and the next use finds out whether it can still be opened.
    const closed =
      this.#environment && closeEnvironment(this.#environment, this.#place.readOnly).catch(() => undefined);
    this.#environment = undefined;
    this.#closing = Promise.all([this.#closing, closed]).then(() => undefined);
    return true;
  }

  /** Nothing may use it any more. */
  async close(): Promise<void> {
    const environment = this.#environment;
    this.#environment = undefined;
    this.#all.forget(this);
    await Promise.all([this.#closing, environment && closeEnvironment(environment, this.#place.readOnly)]);
  }
}
