import { isDatabaseError } from '../../base/errors/database-error.ts';
import type { PageStore } from '../../storage/page-store.ts';
import { holdsNothing } from '../store/restoration.ts';
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
