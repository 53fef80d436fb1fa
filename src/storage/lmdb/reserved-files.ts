import { type FileHandle, open, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { RESERVE_PARTS, type ReservedSpace, type ReservePart } from '../space-reserve.ts';
import { hasCode } from './folder.ts';
import { toDatabaseError } from './lmdb-errors.ts';

/** One block at a time. Its content can't be compressed, so that it takes its full space on every file system. */
const BLOCK_BYTES = 65_536;

/**
 * Space of a disk that is reserved in files beside those of the store in the same folder. A part that was given up is an empty file.
 */
export class ReservedFiles implements ReservedSpace {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async measure(): Promise<Record<ReservePart, number | undefined>> {
    const [deletions, upkeep] = await Promise.all(RESERVE_PARTS.map((part) => sizeOf(this.#path(part))));
    return { deletions, upkeep };
  }

  async grow(part: ReservePart, bytes: number): Promise<void> {
    const path = this.#path(part);
    const before = (await sizeOf(path)) ?? 0;
    try {
      const handle = await open(path, 'a');
      try {
        await fill(handle, bytes - before);
      } finally {
        await handle.close();
      }
    } catch (error) {
      await truncate(path, before).catch(() => undefined);
      throw await toDatabaseError(error, path, 'reserving space', this.#folder);
    }
  }

  async release(part: ReservePart): Promise<void> {
    await truncate(this.#path(part), 0);
  }

  #path(part: ReservePart): string {
    return join(this.#folder, `_reserve.${part}`);
  }
}

async function fill(handle: FileHandle, bytes: number): Promise<void> {
  const block = new Uint8Array(BLOCK_BYTES);
  for (let left = bytes; left > 0; left -= block.length) {
    crypto.getRandomValues(block);
    await handle.appendFile(block);
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}
