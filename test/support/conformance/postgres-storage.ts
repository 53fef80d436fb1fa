import { createPostgresPageStore } from '../../../src/storage/postgres/postgres-page-store.ts';
import { dropSchema, newSchema, openPool } from '../postgres/postgres.ts';
import type { Storage } from './core-host.ts';

/** Storage for a host in a schema of its own, on the server at that URL. */
export async function postgresStorage(url: string): Promise<Storage> {
  const pool = await openPool(newSchema(url));
  return {
    open: () => createPostgresPageStore(pool),
    remove: async () => {
      await dropSchema(pool);
      await pool.close();
    },
  };
}
