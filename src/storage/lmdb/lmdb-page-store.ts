import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { must } from '../../base/shared/assert.ts';
import { assertFileName } from '../backend-checks.ts';
import { OpenFiles } from '../open-files.ts';
import {
  type FollowedFile,
  MAX_PAGE_BYTES,
  type PageFile,
  type PageStore,
  type PageStoreSupport,
} from '../page-store.ts';
import { journalDamaged, storageCorrupt, storageExists, storageMissing } from '../storage-errors.ts';
import { createEnvironment, openEnvironment, takeOwnership, turnForCommit } from './environment.ts';
import {
  createFolder,
  dataPath,
  findGenerations,
  hasCode,
  listFiles,
  removeFolder,
  removeOtherGenerations,
  sweep,
} from './folder.ts';
import { FollowedFolder } from './following/followed-folder.ts';
import { LmdbFollowedFile } from './following/lmdb-followed-file.ts';
import { mustHaveRoom } from './host-limits.ts';
import { type JournalFunctions, systemFunctions } from './journal-file.ts';
import type { JournalDamage, RecoveredJournal } from './journal-recovery.ts';
import { syncSegments } from './journal-segment.ts';
import { toDatabaseError } from './lmdb-errors.ts';
import { LmdbPageFile } from './lmdb-page-file.ts';
import { OpenEnvironments } from './open-environments.ts';

/** Decides what happens to a file whose journal is damaged. */
export type OnJournalDamage = (file: string, damage: JournalDamage) => void;

export interface LmdbOptions {
  /** What journals use of the file system. Default: the system's own. */
  readonly functions?: JournalFunctions;
  /**
   * Called if the journal of a file that is being opened is damaged. What it throws ends the opening, which then has changed
   * nothing; if it returns, the damaged record is dropped with those after it. Default: throws `storage_corrupt`.
   */
  readonly onDamage?: OnJournalDamage;
  /**
   * Whether the whole structure of each file is checked before it is opened, for a verification: damage to it may end the
   * process when LMDB meets it. Default: false.
   */
  readonly checksWholly?: boolean;
  /** How many environments are open at a time, unless more are in use. Default: as open-environments.ts says. */
  readonly maxOpenEnvironments?: number;
  /** How many states each followed file holds at most. Default: as following/holds.ts says. */
  readonly maxHolds?: number;
}

/**
 * Makes a store of files in LMDB environments, one each, in folders below `folder` (created if missing). LMDB lets other
 * processes write, too: fencing keeps them from harming each other, but the caller should lock the folder so that two
 * services don't take it from each other all the time, and because the journal's fence holds within one process only.
 */
export function createLmdbPageStore(folder: string, options: LmdbOptions = {}): PageStore {
  return new LmdbPageStore(folder, options);
}

class LmdbPageStore implements PageStore {
  readonly supports: PageStoreSupport = {
    backend: 'lmdb',
    // Values of more than half an LMDB page take whole pages of 4,096 bytes, less 32 for their headers. One page, since
    // a page costs little by itself here, and an edit among random ids writes a whole leaf.
    leafBytes: 4064,
    bodyPageBytes: 32_736,
    maxPageBytes: MAX_PAGE_BYTES,
    crc32,
    shrinks: false,
    persistent: true,
  };
  readonly #folder: string;
  readonly #functions: JournalFunctions;
  readonly #onDamage: OnJournalDamage;
  readonly #checksWholly: boolean;
  readonly #environments: OpenEnvironments;
  readonly #maxHolds: number | undefined;
  readonly #open = new OpenFiles<LmdbPageFile | LmdbFollowedFile>();
  #swept: Promise<void> | undefined;

  constructor(folder: string, options: LmdbOptions) {
    this.#folder = folder;
    this.#functions = options.functions ?? systemFunctions;
    this.#onDamage = options.onDamage ?? refuseDamage;
    this.#checksWholly = options.checksWholly ?? false;
    this.#environments = new OpenEnvironments(options.maxOpenEnvironments);
    this.#maxHolds = options.maxHolds;
  }

  async list(): Promise<string[]> {
    this.#open.mustBeOpen();
    return this.#named('*', 'listing files', async () => {
      await this.#sweep();
      return listFiles(this.#folder);
    });
  }

  open(file: string, mode: 'create' | 'open'): Promise<PageFile> {
    return this.#open.open(async () => {
      assertFileName(file);
      return this.#named(file, 'opening it', async () => {
        await this.#sweep();
        if (mode === 'create') await this.#create(file);
        return this.#load(file);
      });
    });
  }

  /**
   * For another process than the owner's. Within one process, lmdb-js opens a data file once, and shares it: so if a follower was
   * the first, it is open for reading only, and an owner's opening fails.
   */
  follow(file: string): Promise<FollowedFile> {
    return this.#open.open(async () => {
      assertFileName(file);
      return this.#named(file, 'following it', () => this.#follow(file));
    });
  }

  async destroy(file: string): Promise<void> {
    this.#open.mustBeOpen();
    assertFileName(file);
    await this.#named(file, 'removing it', async () => {
      await Promise.all(this.#open.named(file).map((open) => open.discard()));
      await removeFolder(this.#folder, file);
    });
  }

  get openFiles(): number {
    return this.#open.size;
  }

  close(): Promise<void> {
    return this.#open.close();
  }

  async #follow(file: string): Promise<LmdbFollowedFile> {
    const followed = new LmdbFollowedFile({
      folder: new FollowedFolder(file, join(this.#folder, file)),
      environments: this.#environments,
      maxHolds: this.#maxHolds,
      onClosed: (closed) => this.#open.forget(closed),
    });
    try {
      await followed.move();
      return followed;
    } catch (error) {
      await followed.close();
      throw error;
    }
  }

  async #create(file: string): Promise<void> {
    if ((await findGenerations(join(this.#folder, file))) !== undefined) throw storageExists(file);
    const isNew = await createFolder(this.#folder, file, async (draft) => {
      await mustHaveRoom(file, draft);
      await createEnvironment(dataPath(draft, 1));
    });
    if (!isNew) throw storageExists(file);
  }

  async #load(file: string): Promise<LmdbPageFile> {
    const folder = join(this.#folder, file);
    const generations = await findGenerations(folder);
    if (generations === undefined) throw storageMissing(file);
    if (generations.length === 0) throw storageCorrupt(file, `there is no data file in ${folder}`);
    try {
      return await this.#loadGeneration(file, folder, must(generations[0]));
    } catch (error) {
      // Removed since its folder was read.
      throw hasCode(error, 'ENOENT') ? storageMissing(file) : error;
    }
  }

  /** Starts at the lowest generation, which says where the file is now. */
  async #loadGeneration(file: string, folder: string, number: number): Promise<LmdbPageFile> {
    const environment = await openEnvironment(file, dataPath(folder, number), { checksWholly: this.#checksWholly });
    let movedTo: number;
    try {
      await turnForCommit();
      const ownership = takeOwnership(file, environment, folder, (damage) => this.#onDamage(file, damage));
      if (!('movedTo' in ownership)) {
        await this.#takeOver(folder, number, ownership.journal);
        const generation = { folder, number, environment };
        const onClosed = (closed: LmdbPageFile): void => this.#open.forget(closed);
        const parts = {
          support: this.supports,
          functions: this.#functions,
          environments: this.#environments,
          onClosed,
        };
        return new LmdbPageFile({ name: file, generation, ownership, ...parts });
      }
      movedTo = ownership.movedTo;
    } catch (error) {
      await environment.root.close();
      throw error;
    }
    await environment.root.close();
    return this.#loadGeneration(file, folder, movedTo);
  }

  /** Makes durable what was found, before anything follows it, and removes what interrupted owners left. */
  async #takeOver(folder: string, generation: number, { kept, leftovers }: RecoveredJournal): Promise<void> {
    await removeOtherGenerations(folder, generation);
    const paths = kept.map(({ path }) => path);
    await syncSegments(folder, paths);
    for (const path of leftovers) await this.#functions.remove(path);
  }

  /** Runs once per store: later leftovers would be this store's own unfinished work. */
  #sweep(): Promise<void> {
    this.#swept ??= sweep(this.#folder);
    return this.#swept;
  }

  async #named<T>(file: string, what: string, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      throw await toDatabaseError(error, file, what, this.#folder);
    }
  }
}

/** Refuses a damaged journal if no one repairs it. */
export function refuseDamage(file: string, { number, place }: JournalDamage): never {
  throw journalDamaged(file, number, place);
}
