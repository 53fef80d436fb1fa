/**
 * Opens a database of a data folder in this process, as a server does at its first request, and tells how long that
 * took. Leaves without closing, so that the journal it found is there for the next one. Built by `run.mjs`.
 *
 * Arguments: the data folder, the database's name. Output: `{ "openMs", "cpuMs" }` as JSON; the
 * latter is processor time, which other work on the machine does not stretch.
 */

import { systemClock, systemRandom } from '../../src/base/shared/clock.ts';
import { openRegistry } from '../../src/database/registry/registry.ts';
import { openDataFolder } from '../../src/node/data-folder/data-folder.ts';
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
const cpuBefore = process.cpuUsage();
await registry.acquire(database);
const openMs = performance.now() - startedAt;
const { user, system } = process.cpuUsage(cpuBefore);
process.stdout.write(JSON.stringify({ openMs, cpuMs: (user + system) / 1_000 }));
process.exit(0);
