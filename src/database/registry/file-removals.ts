/**
 * Removes the files of deleted databases. No one waits for it, since a frozen tab can hold a file for long. A removal that fails is retried
 * at the next change of the list of databases, and at the next start.
 */

import type { Log } from '../../base/system/contract.ts';
import type { PageStore } from '../../storage/page-store.ts';
import { databaseFileOf } from './database-name.ts';

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
          this.#log.error(`${file} could not be removed; it is tried again`, error);
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
