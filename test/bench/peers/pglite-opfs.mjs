/** PGlite in a worker, with its files in the origin's private file system, by a pool of access handles. */
import { PGliteWorker } from '@electric-sql/pglite/worker';
import { storeIn } from './pglite.mjs';

export async function open(name, { strict = false } = {}) {
  const worker = new Worker(new URL('./pglite-worker.mjs', import.meta.url), { type: 'module' });
  const database = await PGliteWorker.create(worker, {
    dataDir: `opfs-ahp://pglite-${name}`,
    id: name,
    meta: { relaxedDurability: !strict },
  });
  return storeIn(database, async () => {
    await database.close();
    worker.terminate();
  });
}
