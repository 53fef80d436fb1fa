/** The worker that has the database. */
import { PGlite } from '@electric-sql/pglite';
import { worker } from '@electric-sql/pglite/worker';

await worker({
  init: ({ dataDir, meta: { relaxedDurability } }) => PGlite.create(dataDir, { relaxedDurability }),
});
