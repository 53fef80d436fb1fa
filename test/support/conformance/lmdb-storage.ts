import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLmdbPageStore } from '../../../src/storage/lmdb/lmdb-page-store.ts';
import type { Storage } from './core-host.ts';

/** Storage for a host in a temporary folder of its own. */
export async function lmdbStorage(): Promise<Storage> {
  const folder = await mkdtemp(join(tmpdir(), 'settee-conformance-'));
  return {
    open: () => createLmdbPageStore(folder),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
