import { readdirSync } from 'node:fs';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { SeededRandom } from '../../support/seeded-random.ts';

export interface Flip {
  /** Below the data folder. */
  readonly file: string;
  readonly position: number;
  /** What the byte is combined with by exclusive or: never 0. */
  readonly mask: number;
}

/** A data folder that nobody uses, without what says who used it. */
export async function copyFolder(from: string, to: string): Promise<void> {
  const isOfData = (path: string) => basename(path) !== 'lock' && !path.endsWith('-lock');
  await cp(from, to, { recursive: true, filter: isOfData });
}

/** Files below a data folder that keep something: LMDB makes its lock files anew whenever nobody uses them. */
export function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('-lock'))
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

/**
 * Changes one byte of one of the files, mostly one that is not 0: much of a file that is made of pages is empty. Files are chosen
 * alike, whatever their size.
 */
export async function flipByte(random: SeededRandom, folder: string, files: readonly string[]): Promise<Flip> {
  const file = random.oneOf(files);
  if (file === undefined) throw new Error(`there is no file to damage in ${folder}`);
  const bytes = await readFile(join(folder, file));
  let position = random.between(0, bytes.length - 1);
  if (random.chance(90)) {
    while (bytes[position] === 0) position = random.between(0, bytes.length - 1);
  }
  const mask = random.chance(50) ? 1 << random.between(0, 7) : random.between(1, 255);
  bytes[position] = (bytes[position] ?? 0) ^ mask;
  await writeFile(join(folder, file), bytes);
  return { file, position, mask };
}
