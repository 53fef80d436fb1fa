import { randomHex } from '../../base/shared/bytes.ts';
import type { Clock, RandomBytes } from '../../base/shared/clock.ts';
import type { Log } from '../../base/system/contract.ts';
import type { PageStore } from '../../storage/page-store.ts';
import { createRevisionHasher } from '../documents/revisions/revision-hash.ts';
import { openDatabase } from '../store/open-database.ts';
import { DatabaseList } from './database-list.ts';
import { REGISTRY_FILE } from './registry.ts';

interface ListOptions {
  readonly store: PageStore;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly log: Log;
}

/**
 * Returns the file of each database that the list of a store names, by the database's name. Opens the list's file, which must
 * exist, and closes it again; other files are left alone, whether they are named or not.
 */
export async function readListedFiles(options: ListOptions): Promise<ReadonlyMap<string, string>> {
  const { store } = options;
  const hasher = await createRevisionHasher();
  const list = await DatabaseList.open({
    open: async (onFailure) => {
      const file = await store.open(REGISTRY_FILE, 'open');
      return openDatabase({ ...options, name: REGISTRY_FILE, file, supports: store.supports, hasher, onFailure });
    },
    // For a list whose creation was interrupted before it had a uuid.
    newUuid: () => randomHex(options.random, 16),
    onLost: () => undefined,
  });
  try {
    return new Map([...list.entries].map(([name, { file }]) => [name, file]));
  } finally {
    await list.close();
  }
}
