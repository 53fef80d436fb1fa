import { join } from 'node:path';
import type { FileSource, ReadableFile } from '../../file-copy.ts';
import { readState } from '../environment.ts';
import { findGenerations, listFiles } from '../folder.ts';
import { openCurrent } from '../folder-copy.ts';
import { toDatabaseError } from '../lmdb-errors.ts';
import { type OnJournalDamage, refuseDamage } from '../lmdb-page-store.ts';
import { pagesIn } from './environment-pages.ts';

/**
 * The files in the folder of a store that no process has open. Nothing is written to them. `onDamage` is called for a file whose journal is damaged:
 * if it returns, the journal ends before the damage.
 */
export class LmdbFileSource implements FileSource {
  readonly #folder: string;
  readonly #onDamage: OnJournalDamage;

  constructor(folder: string, onDamage: OnJournalDamage = refuseDamage) {
    this.#folder = folder;
    this.#onDamage = onDamage;
  }

  list(): Promise<string[]> {
    return listFiles(this.#folder);
  }

  async use<T>(file: string, use: (file: ReadableFile) => Promise<T>): Promise<T | undefined> {
    const folder = join(this.#folder, file);
    const generations = await findGenerations(folder);
    if (generations === undefined) return undefined;
    const environment = await openCurrent(file, folder, generations).catch(async (error: unknown) => {
      throw await toDatabaseError(error, file, 'reading it', folder);
    });
    try {
      const { state, damage } = readState(file, environment, folder);
      if (damage !== undefined) this.#onDamage(file, damage);
      return await use({
        name: file,
        state,
        countPages: async () => environment.bytes.getKeysCount(),
        pages: (from) => pagesIn(file, environment, from),
      });
    } finally {
      await environment.root.close();
    }
  }
}
