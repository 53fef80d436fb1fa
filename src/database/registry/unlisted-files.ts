/** Files of a store that the list of databases does not name: what they are, and the removal of those that belong to nothing. */
import { isDatabaseError } from '../../base/errors/database-error.ts';
import type { Log } from '../../base/system/contract.ts';
import type { PageStore } from '../../storage/page-store.ts';
import { holdsNothing } from '../store/state/stored-head.ts';
import { databaseFileOf, isDatabaseFile } from './database-name.ts';

interface UnlistedFiles {
  /** They belong to nothing: leftovers of interrupted deletions and creations. */
  readonly leftovers: readonly string[];
  /** Databases with content that the list does not know: it is older than they are. */
  readonly unknown: readonly string[];
}

interface KnownFiles {
  /** Files of listed databases. */
  readonly listed: ReadonlySet<string>;
  /** Files of deleted databases. */
  readonly removed: ReadonlySet<string>;
}

/** Sorts the store's files that the list of databases does not name. */
export async function findUnlisted(
  store: PageStore,
  files: readonly string[],
  { listed, removed }: KnownFiles,
): Promise<UnlistedFiles> {
  const unlisted = files.filter((file) => isDatabaseFile(file) && !listed.has(databaseFileOf(file)));
  const unknown = new Set<string>();
  for (const file of unlisted) {
    if (file !== databaseFileOf(file) || removed.has(file)) continue;
    if (!(await isEmpty(store, file))) unknown.add(file);
  }
  const leftovers = unlisted.filter((file) => !unknown.has(databaseFileOf(file)));
  return { leftovers, unknown: [...unknown] };
}

/** Whether the file is empty. A file that can't be read is not known to be empty. */
async function isEmpty(store: PageStore, name: string): Promise<boolean> {
  try {
    const file = await store.open(name, 'open');
    try {
      return await holdsNothing(file, store.supports.crc32);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isDatabaseError(error)) return false;
    throw error;
  }
}

/** Returns the name for a database that the list does not know. Its own name can't be derived with certainty from its file's name. */
export function nameForUnknown(file: string): string {
  return `set_aside_${file.replace('.', '_')}`;
}

/**
 * Removes the files of deleted databases. No one waits for it, since a frozen tab can hold a file for long. A removal that fails is retried
 * at the next change of the list of databases, and at the next start.
 */
export class FileRemovals {
  readonly #store: PageStore;
  readonly #log: Log;
  readonly #onRemoved: (file: string) => void;
  readonly #running = new Set<Promise<void>>();
  readonly #failed = new Set<string>();

  constructor(store: PageStore, log: Log, onRemoved: (file: string) => void) {
    this.#store = store;
    this.#log = log;
    this.#onRemoved = onRemoved;
  }

  /** Removes a database's file and the files that belong to it. */
  beginDatabase(file: string): void {
    this.#begin(file, this.#removeDatabase(file));
  }

  beginFile(file: string): void {
    this.#begin(file, this.#store.destroy(file));
  }

  beginFailedAgain(): void {
    const files = [...this.#failed];
    this.#failed.clear();
    for (const file of files) this.beginDatabase(file);
  }

  /** Resolves when the removals that were begun have ended, in either way. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  #begin(file: string, work: Promise<void>): void {
    const removal: Promise<void> = work
      .then(
        () => this.#onRemoved(file),
        (error: unknown) => {
          this.#failed.add(file);
          this.#log.error(
            `file ${file} could not be removed; the next creation or deletion of a database tries again`,
            error,
          );
        },
      )
      .finally(() => this.#running.delete(removal));
    this.#running.add(removal);
  }

  async #removeDatabase(databaseFile: string): Promise<void> {
    await this.#store.destroy(databaseFile);
    for (const file of await this.#store.list()) {
      if (databaseFileOf(file) === databaseFile) await this.#store.destroy(file);
    }
  }
}
