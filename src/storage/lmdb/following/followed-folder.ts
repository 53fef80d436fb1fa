import { closeSync, existsSync, fstatSync, openSync, statSync } from 'node:fs';
import { storageCorrupt, storageMissing } from '../../storage-errors.ts';
import { type Environment, movedTo, openEnvironment } from '../environment.ts';
import { dataPath, findGenerations, hasCode } from '../folder.ts';

/** A check of the data file while its owner writes may find damage that is none, or the file gone after a compaction. */
const MAX_ATTEMPTS = 20;
const BETWEEN_ATTEMPTS_MS = 10;

/** A generation has a successor, so its owner may remove it at any moment; or a crash has left both. */
class HasSuccessor extends Error {}

/**
 * Numbers of the system's errors, as LMDB reports them: ENOENT if the data file was removed just before LMDB opened it, and EINVAL, for instance if its
 * owner is just making it.
 */
const PASSING = [2, 22];

/** Whether opening a generation again may succeed. */
export function mayPass(error: unknown): boolean {
  if (error instanceof HasSuccessor || hasCode(error, 'ENOENT') || hasCode(error, 'storage_corrupt')) return true;
  return error instanceof Error && 'code' in error && PASSING.some((number) => number === error.code);
}

export interface OpenGeneration {
  readonly number: number;
  readonly environment: Environment;
}

/** The folder of a file that another process may write, compact and remove. */
export class FollowedFolder {
  readonly file: string;
  readonly path: string;
  readonly #inode: number;
  /** While it is open, no other folder gets the same inode. Undefined where folders can't be opened, and inodes aren't used again. */
  readonly #descriptor: number | undefined;

  /** Fails with `storage_missing` if there is none. */
  constructor(file: string, path: string) {
    this.file = file;
    this.path = path;
    try {
      this.#descriptor = openFolder(path);
      this.#inode = (this.#descriptor === undefined ? statSync(path) : fstatSync(this.#descriptor)).ino;
    } catch (error) {
      throw hasCode(error, 'ENOENT') ? storageMissing(file) : error;
    }
  }

  /** Whether it still has its name: one of the same name may have been made since. */
  get isThere(): boolean {
    return statSync(this.path, { throwIfNoEntry: false })?.ino === this.#inode;
  }

  /**
   * Opens the generation that holds the file now, for reading. Fails with `storage_missing` if the folder was removed.
   *
   * @param expected the generation that it was moved to, if that is known.
   */
  async openGeneration(expected?: number): Promise<OpenGeneration> {
    for (let attempt = 1; ; attempt++) {
      if (!this.isThere) throw storageMissing(this.file);
      try {
        const first = attempt === 1 && expected !== undefined ? expected : await this.#lowest();
        const generation = first && (await this.#openFrom(first, attempt < MAX_ATTEMPTS));
        if (typeof generation === 'object') return generation;
        if (attempt === MAX_ATTEMPTS) throw storageCorrupt(this.file, `there is no data file in ${this.path}`);
      } catch (error) {
        if (!mayPass(error) || attempt === MAX_ATTEMPTS) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_ATTEMPTS_MS));
    }
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
  }

  async #lowest(): Promise<number | undefined> {
    return (await findGenerations(this.path))?.[0];
  }

  /**
   * A generation says where the file is now. A higher one that none leads to is an unfinished copy.
   *
   * @param avoids whether to fail if a generation has a successor: if its data file is removed while lmdb-js as of 3.5.6 opens it, lmdb-js
   * looks at memory that it has freed.
   */
  async #openFrom(first: number, avoids: boolean): Promise<OpenGeneration> {
    for (let number = first; ; ) {
      const path = dataPath(this.path, number);
      const beforeOpening = (): void => {
        if (avoids && existsSync(dataPath(this.path, number + 1))) throw new HasSuccessor();
        statSync(path);
      };
      const environment = await openEnvironment(this.file, path, { readOnly: true, beforeOpening });
      try {
        const next = movedTo(this.file, environment);
        if (next === undefined) return { number, environment };
        number = next;
      } catch (error) {
        await environment.root.close();
        throw error;
      }
      await environment.root.close();
    }
  }
}

function openFolder(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if (hasCode(error, 'EPERM') || hasCode(error, 'EISDIR') || hasCode(error, 'EACCES')) return undefined;
    throw error;
  }
}
