/**
 * Opens a database of a data folder in this process, as a server does at its first request, and tells how long that
 * took. Leaves without closing, so that the journal it found is there for the next one. Built by `run.mjs`.
 *
 * Arguments: the data folder, the database's name. Output: `{ "openMs" }` as JSON.
 */
import { openDataFolder } from '../../src/node/data-folder.ts';
import { openRegistry } from '../../src/registry/registry.ts';
import { systemClock, systemRandom } from '../../src/shared/clock.ts';
import { createLmdbPageStore } from '../../src/storage/lmdb/lmdb-page-store.ts';

const [folder = '', database = ''] = process.argv.slice(2);
const registry = await openRegistry({
  store: createLmdbPageStore((await openDataFolder(folder)).databases),
  clock: systemClock,
  random: systemRandom,
  config: { get: () => undefined },
  log: { error: (message) => console.error(message), info: () => undefined, debug: () => undefined },
});
const startedAt = performance.now();
await registry.acquire(database);
process.stdout.write(JSON.stringify({ openMs: performance.now() - startedAt }));
process.exit(0);
