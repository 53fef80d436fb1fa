import { join } from 'node:path';
import type { FileSource, ReadableFile } from '../../file-copy.ts';
import { journalDamaged } from '../../storage-errors.ts';
import { readState } from '../environment.ts';
import { findGenerations, listFiles } from '../folder.ts';
import { openCurrent } from '../folder-copy.ts';
import { toDatabaseError } from '../lmdb-errors.ts';
import { pagesIn } from './environment-pages.ts';

/** The files in the folder of a store that no process has open. Nothing is written to them. */
export class LmdbFileSource implements FileSource {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
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
      if (damage !== undefined) throw journalDamaged(file, damage.number, damage.place);
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
