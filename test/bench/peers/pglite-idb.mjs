/** PGlite in the page, with its files in IndexedDB. */
import { PGlite } from '@electric-sql/pglite';
import { storeIn } from './pglite.mjs';

export async function open(name) {
  const database = await PGlite.create(`idb://${name}`);
  return storeIn(database, async () => {
    await database.close();
    indexedDB.deleteDatabase(`/pglite/${name}`);
  });
}
