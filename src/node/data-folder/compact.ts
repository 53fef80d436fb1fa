import { DatabaseError } from '../../base/errors/database-error.ts';
import { systemClock, systemRandom } from '../../base/shared/clock.ts';
import { silentLog } from '../../base/system/log.ts';
import { openRegistry } from '../../database/registry/registry.ts';
import type { Database } from '../../database/store/contract.ts';
import { openForMaintenance, type StoragePlace } from './maintained-storage.ts';

/** What the compaction of a database changed. */
export interface CompactedDatabase {
  readonly database: string;
  /** Of its file, without indexes. */
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  /** Why it was not compacted; undefined if it was. */
  readonly problem?: string | undefined;
}

interface CompactOptions extends StoragePlace {
  /** All databases if none is named. `not_found` for a name that does not exist. */
  readonly databases: readonly string[];
}

/** Compacts databases of a data folder, or of another storage, that no server is using. One that can't be read does not stop the others. */
export async function* compactData(options: CompactOptions): AsyncGenerator<CompactedDatabase> {
  const storage = await openForMaintenance(options, { command: 'compact' });
  try {
    const store = storage.openStore({ reservesSpace: false });
    const base = { store, clock: systemClock, random: systemRandom, log: silentLog };
    const registry = await openRegistry({ ...base, config: { get: () => undefined } });
    try {
      const missing = options.databases.find((name) => !registry.has(name));
      if (missing !== undefined) {
        throw new DatabaseError(
          'not_found',
          `There is no database "${missing}" in ${storage.place}. Check the spelling of its name.`,
        );
      }
      for (const database of options.databases.length > 0 ? options.databases : registry.names()) {
        const compacted = Promise.resolve(registry.use(database, compactOne));
        yield { database, ...(await compacted.catch(failed)) };
      }
    } finally {
      await registry.close();
    }
  } finally {
    await storage.release();
  }
}

async function compactOne(database: Database): Promise<Omit<CompactedDatabase, 'database'>> {
  const { diskSize: bytesBefore } = await database.info();
  await database.compact();
  const { diskSize: bytesAfter } = await database.info();
  return { bytesBefore, bytesAfter };
}

/** Throws errors that would end the next compaction, too. */
function failed(error: unknown): Omit<CompactedDatabase, 'database'> {
  if (!(error instanceof DatabaseError) || ['storage_full', 'storage_blocked'].includes(error.code)) throw error;
  return { bytesBefore: 0, bytesAfter: 0, problem: error.reason };
}
