import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { assertFileName } from '../../backend-checks.ts';
import { type FileDraft, type FileState, type FileTarget, isSameState, type StoredPage } from '../../file-copy.ts';
import type { PageNumber } from '../../page-store.ts';
import { storageExists, storageFenced } from '../../storage-errors.ts';
import {
  closeEnvironment,
  commitAs,
  createEnvironment,
  type Environment,
  openEnvironment,
  readState,
  writeState,
} from '../environment.ts';
import { dataPath, findGenerations, hasCode, makeFolder, syncPath } from '../folder.ts';
import { mustHaveRoom } from '../host-limits.ts';
import { toDatabaseError } from '../lmdb-errors.ts';
import { pagesIn } from './environment-pages.ts';

/** A copy that is being made, in a folder with this before the name of its file … */
const UNFINISHED = '_copy.';
/** … and one that is complete. */
const COMPLETE = '_copied.';

/** Copies files into the folder of a store. No other process may use the folder. */
export class LmdbFileTarget implements FileTarget {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async draft(file: string, state: FileState): Promise<FileDraft> {
    assertFileName(file);
    const place = { file, parent: this.#folder };
    try {
      await makeFolder(this.#folder);
      const environment = (await openSame(place, COMPLETE, state)) ?? (await openSame(place, UNFINISHED, state));
      return environment ?? (await createDraft(place, state));
    } catch (error) {
      throw await toDatabaseError(error, file, 'copying it', this.#folder);
    }
  }

  async publish(files: readonly string[]): Promise<void> {
    for (const file of files) {
      const path = join(this.#folder, file);
      if ((await findGenerations(path)) !== undefined) throw storageExists(file);
      await rename(join(this.#folder, `${COMPLETE}${file}`), path);
    }
    if (files.length > 0) await syncPath(this.#folder);
  }

  async removeDrafts(): Promise<void> {
    const names = await readdir(this.#folder).catch((error: unknown) => {
      if (hasCode(error, 'ENOENT')) return [];
      throw error;
    });
    for (const name of names) {
      if (!name.startsWith(UNFINISHED) && !name.startsWith(COMPLETE)) continue;
      await rm(join(this.#folder, name), { recursive: true, force: true });
    }
  }
}

interface DraftPlace {
  readonly file: string;
  /** The folder of the store. */
  readonly parent: string;
}

/** Opens a copy that an earlier process left. Undefined if there is none; one of another state, or one that was just begun, is removed. */
async function openSame(
  { file, parent }: DraftPlace,
  prefix: string,
  state: FileState,
): Promise<LmdbFileDraft | undefined> {
  const folder = join(parent, `${prefix}${file}`);
  if ((await findGenerations(folder)) === undefined) return undefined;
  let environment: Environment | undefined;
  try {
    environment = await openEnvironment(file, dataPath(folder, 1));
    const found = readState(file, environment, folder).state;
    if (isSameState(found, state)) {
      return new LmdbFileDraft({ file, parent }, environment, found.epoch, prefix === COMPLETE);
    }
  } catch {
    // It has no state yet: its process ended before it had.
  }
  if (environment !== undefined) await closeEnvironment(environment);
  await rm(folder, { recursive: true, force: true });
  return undefined;
}

async function createDraft({ file, parent }: DraftPlace, state: FileState): Promise<LmdbFileDraft> {
  const folder = join(parent, `${UNFINISHED}${file}`);
  await mustHaveRoom(file, parent);
  await mkdir(folder);
  const path = dataPath(folder, 1);
  await createEnvironment(path);
  const environment = await openEnvironment(file, path);
  try {
    writeState(environment, state);
    return new LmdbFileDraft({ file, parent }, environment, state.epoch, false);
  } catch (error) {
    await closeEnvironment(environment);
    throw error;
  }
}

class LmdbFileDraft implements FileDraft {
  readonly isComplete: boolean;
  readonly nextPage: PageNumber;
  readonly #place: DraftPlace;
  readonly #environment: Environment;
  readonly #epoch: number;
  #closing: Promise<void> | undefined;

  constructor(place: DraftPlace, environment: Environment, epoch: number, isComplete: boolean) {
    this.#place = place;
    this.#environment = environment;
    this.#epoch = epoch;
    this.isComplete = isComplete;
    const [last] = [...environment.bytes.getKeys({ reverse: true, limit: 1 })];
    this.nextPage = last === undefined ? 0 : last + 1;
  }

  async write(pages: readonly StoredPage[]): Promise<void> {
    const { file, parent } = this.#place;
    const { bytes } = this.#environment;
    try {
      const isOwner = await commitAs(this.#environment, this.#epoch, () => {
        for (const page of pages) void bytes.put(page.number, page.bytes);
      });
      if (!isOwner) throw storageFenced(file);
    } catch (error) {
      throw await toDatabaseError(error, file, 'copying it', parent);
    }
  }

  pages(from: PageNumber): AsyncIterable<readonly StoredPage[]> {
    return pagesIn(this.#place.file, this.#environment, from);
  }

  async complete(): Promise<void> {
    const { file, parent } = this.#place;
    // Some systems rename no folder that holds an open file.
    await this.close();
    const folder = join(parent, `${UNFINISHED}${file}`);
    await syncPath(folder);
    await rename(folder, join(parent, `${COMPLETE}${file}`));
    await syncPath(parent);
  }

  close(): Promise<void> {
    this.#closing ??= closeEnvironment(this.#environment);
    return this.#closing;
  }
}
