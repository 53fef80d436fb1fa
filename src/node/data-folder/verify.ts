import { DatabaseError, type ErrorCode } from '../../errors/database-error.ts';
import { openRegistry } from '../../registry/registry.ts';
import { systemClock, systemRandom } from '../../shared/clock.ts';
import { silentLog } from '../../system/log.ts';
import type { OnProgress } from '../terminal/progress.ts';
import { mustHoldDatabases, openDataFolder, openStorage } from './data-folder.ts';

/** What `verify` found in one database. */
interface DatabaseFindings {
  readonly database: string;
  readonly documents: number;
  readonly pages: number;
  /** One sentence per finding; empty when all is well. */
  readonly damage: readonly string[];
}

/**
 * Reads databases of a data folder that no server is using, and reports damage. Changes no document; as at every opening,
 * what an interrupted run left unfinished is completed.
 *
 * @param databases which ones; all of them where none is named. `not_found` for a name that is not there.
 */
export async function* verifyData(options: {
  readonly dataFolder: string;
  readonly databases: readonly string[];
  readonly onProgress: OnProgress;
}): AsyncGenerator<DatabaseFindings> {
  await mustHoldDatabases(options.dataFolder);
  const folder = await openDataFolder(options.dataFolder);
  try {
    const losses: string[] = [];
    const store = openStorage(folder.databases, (finding) => losses.push(finding));
    const config = { get: () => undefined };
    const parts = { store, clock: systemClock, random: systemRandom, config, log: silentLog };
    const registry = await openRegistry(parts);
    try {
      for (const database of options.databases.length > 0 ? options.databases : registry.names()) {
        if (!registry.names().includes(database)) {
          throw new DatabaseError('not_found', `There is no database "${database}" in ${options.dataFolder}.`);
        }
        const verified = Promise.resolve(registry.use(database, (opened) => opened.verify(options.onProgress)));
        // A database that can't be read must not keep the others from being verified.
        const report = await verified.catch(unreadable);
        yield { database, ...report, damage: [...losses.splice(0), ...report.damage] };
      }
    } finally {
      await registry.close();
    }
  } finally {
    await folder.release();
  }
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
  const isMissing = error.code === 'storage_missing';
  return { documents: 0, pages: 0, damage: [isMissing ? 'Its file is gone; restore it from a backup.' : error.reason] };
}
