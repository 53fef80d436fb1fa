import { DatabaseError, type ErrorCode } from '../../base/errors/database-error.ts';
import { systemClock, systemRandom } from '../../base/shared/clock.ts';
import { silentLog } from '../../base/system/log.ts';
import type { DocId, RevId } from '../../database/documents/contract.ts';
import type { Registry } from '../../database/registry/contract.ts';
import { REGISTRY_FILE } from '../../database/registry/database-list.ts';
import { databaseFileOf } from '../../database/registry/database-name.ts';
import { openRegistry } from '../../database/registry/registry.ts';
import type { Database, VerifyReport } from '../../database/store/contract.ts';
import { describeLoss } from '../../database/store/open-database.ts';
import { verifyIndexes } from '../../queries/views/verify-indexes.ts';
import type { PageStore } from '../../storage/page-store.ts';
import type { OnProgress } from '../terminal/progress.ts';
import { openForMaintenance, type StoragePlace } from './maintained-storage.ts';

/** What `verify` found in one database, or in the list of databases. */
interface DatabaseFindings {
  readonly database: string;
  readonly documents: number;
  readonly pages: number;
  /** One sentence for each repair, which says what is lost. */
  readonly repairs: readonly string[];
  /** One sentence for each remaining finding; empty if all is well. */
  readonly damage: readonly string[];
}

interface VerifyOptions extends StoragePlace {
  /** The databases to verify; all of them if none is named. `not_found` for a name that does not exist. */
  readonly databases: readonly string[];
  /** Whether to drop damaged parts if the rest can be used without them. */
  readonly repair: boolean;
  readonly onProgress: OnProgress;
}

const LIST = 'list of databases';

/**
 * Reads databases of a data folder, or of another storage, that no server is using, with their indexes, and reports damage. Without `repair` it
 * changes no document; as at every opening, it completes what an interrupted run left unfinished.
 */
export async function* verifyData(options: VerifyOptions): AsyncGenerator<DatabaseFindings> {
  const storage = await openForMaintenance(options, { command: 'verify' });
  try {
    const repairs = new Map<string, string[]>();
    const noteRepair = (file: string, repair: string) => {
      const database = databaseFileOf(file);
      repairs.set(database, [...(repairs.get(database) ?? []), repair]);
    };
    const store = storage.openStore({
      onRepair: options.repair ? noteRepair : undefined,
      checksWholly: true,
      reservesSpace: false,
    });
    const registry = await openRegistry({
      store,
      clock: systemClock,
      random: systemRandom,
      config: { get: () => undefined },
      // Databases that are not in the list are set aside at every opening.
      log: { ...silentLog, error: (message) => noteRepair(REGISTRY_FILE, message) },
      onDamagedRecord: options.repair
        ? (file, number, behind) => noteRepair(file, describeLoss(number, `in ${file}`, behind))
        : undefined,
    });
    try {
      yield* verifyAll({
        registry,
        store,
        options,
        place: storage.place,
        repairsOf: (file) => repairs.get(file) ?? [],
      });
    } finally {
      await registry.close();
    }
  } finally {
    await storage.release();
  }
}

interface Verification {
  readonly registry: Registry;
  readonly store: PageStore;
  readonly options: VerifyOptions;
  readonly place: string;
  /** The repairs of a database when its file was opened. */
  repairsOf(file: string): readonly string[];
}

async function* verifyAll(verification: Verification): AsyncGenerator<DatabaseFindings> {
  const { registry, options, place, repairsOf } = verification;
  const list = await registry.verifyList();
  const listRepairs = repairsOf(REGISTRY_FILE);
  if (list.damage.length + listRepairs.length > 0) yield { database: LIST, ...list, repairs: listRepairs };
  for (const database of options.databases.length > 0 ? options.databases : registry.names()) {
    if (!registry.names().includes(database)) {
      throw new DatabaseError(
        'not_found',
        `There is no database "${database}" in ${place}. Check the spelling of its name.`,
      );
    }
    const verified = Promise.resolve(registry.use(database, (opened) => verifyOne(verification, opened)));
    // A database that can't be read must not keep the others from being verified.
    const report = await verified.catch(unreadable);
    yield { database, ...report };
  }
}

async function verifyOne(
  { store, options: { repair, onProgress }, repairsOf }: Verification,
  database: Database,
): Promise<Omit<DatabaseFindings, 'database'>> {
  const found = await database.verify(onProgress);
  const drops = repair && found.lost.length > 0 ? await dropLost(database, found.lost) : [];
  const report = drops.length > 0 ? await database.verify(onProgress) : found;
  const { file } = await database.origin();
  const indexes = await verifyIndexes(store, database, { repair });
  return {
    ...report,
    repairs: [...repairsOf(file), ...drops, ...indexes.repairs],
    damage: [...report.damage, ...indexes.damage],
  };
}

/**
 * Purges revisions whose bodies can't be read, so that lists and indexes get past them, and makes the compaction move the others out of
 * damaged pages.
 */
async function dropLost(database: Database, lost: VerifyReport['lost']): Promise<string[]> {
  const revisions = new Map<DocId, RevId[]>();
  for (const { id, rev } of lost) revisions.set(id, [...(revisions.get(id) ?? []), rev]);
  await database.purge(revisions);
  await database.compact();
  return lost.map(({ id, rev }) => {
    return `dropped revision ${rev} of ${id}, which can't be read; restore it from a backup or another replica.`;
  });
}

/** Failures of a single file. */
const fileFailures: readonly ErrorCode[] = [
  'storage_corrupt',
  'storage_missing',
  'storage_newer_format',
  'storage_failed',
];

/** The findings for a database that can't be read at all. Throws errors that are not about its file. */
function unreadable(error: unknown): Omit<DatabaseFindings, 'database'> {
  if (!(error instanceof DatabaseError && fileFailures.includes(error.code))) throw error;
  const finding = error.code === 'storage_missing' ? 'Its file is missing; restore it from a backup.' : error.reason;
  return { documents: 0, pages: 0, repairs: [], damage: [finding] };
}
