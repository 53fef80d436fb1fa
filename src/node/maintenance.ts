import { access, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { markRestored } from '../database/restoration.ts';
import { verifyDatabase } from '../database/verify.ts';
import { DatabaseError, type ErrorCode } from '../errors/database-error.ts';
import { openRegistry, REGISTRY_FILE } from '../registry/registry.ts';
import { systemClock, systemRandom } from '../shared/clock.ts';
import { syncPath } from '../storage/lmdb/folder.ts';
import { copyFiles } from '../storage/lmdb/folder-copy.ts';
import { createLmdbPageStore } from '../storage/lmdb/lmdb-page-store.ts';
import type { Log } from '../system/contract.ts';
import { DATABASES_FOLDER, type DataFolder, holdsDatabases, openDataFolder, openStorage } from './data-folder.ts';

/** What `verify` found in one database. */
export interface DatabaseFindings {
  readonly database: string;
  readonly documents: number;
  readonly pages: number;
  /** One sentence per finding; empty when all is well. */
  readonly damage: readonly string[];
}

/** A file of the store that was copied: a database, or the list of databases. */
export interface CopiedDatabase {
  readonly database: string;
  readonly bytes: number;
}

/** Called with what has been done of what there is, in a unit of the callee's choice. */
export type OnProgress = (done: number, total: number) => void;

const silentLog: Log = { error: () => undefined, info: () => undefined, debug: () => undefined };

/**
 * Reads databases of a data folder that no server is using, and reports damage. Changes no document; like every
 * opening it ends what an interrupted run left half done.
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
    const registry = await openRegistry({ ...parts, verifier: verifyDatabase });
    try {
      for (const database of options.databases.length > 0 ? options.databases : registry.names()) {
        if (!registry.names().includes(database)) {
          throw new DatabaseError('not_found', `There is no database "${database}" in ${options.dataFolder}.`);
        }
        const verified = Promise.resolve(registry.use(database, (opened) => opened.verify(options.onProgress)));
        // What is wrong with one database must not hide what is wrong with those behind it.
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

/** The findings where a database can't be read at all; throws what is not the fault of its file. */
function unreadable(error: unknown): Omit<DatabaseFindings, 'database'> {
  if (!(error instanceof DatabaseError && fileFailures.includes(error.code))) throw error;
  const isMissing = error.code === 'storage_missing';
  return { documents: 0, pages: 0, damage: [isMissing ? 'Its file is gone; restore it from a backup.' : error.reason] };
}

/**
 * Copies every database of a data folder, each in the state of its last commit, into `target`, which must not be there
 * yet and becomes a data folder itself. A server may be using the folder.
 */
export async function* backupData(options: {
  readonly dataFolder: string;
  readonly target: string;
  readonly onProgress: OnProgress;
}): AsyncGenerator<CopiedDatabase> {
  await mustHoldDatabases(options.dataFolder);
  if (await exists(options.target)) {
    throw new DatabaseError('storage_exists', `${options.target} is there already. Name a folder that is not.`);
  }
  const folder = { path: options.target, databases: join(options.target, DATABASES_FOLDER) };
  await mkdir(folder.path, { recursive: true });
  let isWhole = false;
  try {
    yield* copyDatabases(options.dataFolder, folder, options.onProgress);
    isWhole = true;
  } finally {
    if (!isWhole) await rm(folder.path, { recursive: true, force: true });
  }
}

/**
 * Makes the data folder `dataFolder`, which must not hold databases, from a backup. Each database's lineage is
 * extended, so that indexes and peers see that it went back in time.
 */
export async function* restoreData(options: {
  readonly source: string;
  readonly dataFolder: string;
  readonly onProgress: OnProgress;
}): AsyncGenerator<CopiedDatabase> {
  await mustHoldDatabases(options.source);
  const folder = await openDataFolder(options.dataFolder);
  try {
    if (await exists(folder.databases)) {
      throw new DatabaseError(
        'storage_exists',
        `${folder.path} holds databases already. Restore into another folder, or move ${folder.databases} away.`,
      );
    }
    yield* copyDatabases(options.source, folder, options.onProgress, markAllRestored);
  } finally {
    await folder.release();
  }
}

/** The copies get the name under which they are looked for when all is done, so that what breaks off leaves no databases. */
async function* copyDatabases(
  source: string,
  target: Pick<DataFolder, 'path' | 'databases'>,
  onProgress: OnProgress,
  finish: (databases: string) => Promise<void> = async () => undefined,
): AsyncGenerator<CopiedDatabase> {
  const draft = `${target.databases}.partial`;
  await rm(draft, { recursive: true, force: true });
  let done = 0;
  for await (const { file, bytes } of copyFiles(join(source, DATABASES_FOLDER), draft, REGISTRY_FILE)) {
    done++;
    onProgress(done, done);
    yield { database: file === REGISTRY_FILE ? 'list of databases' : file, bytes };
  }
  await finish(draft);
  await rename(draft, target.databases);
  await syncPath(target.path);
}

async function markAllRestored(databases: string): Promise<void> {
  const store = createLmdbPageStore(databases);
  for (const name of await store.list()) {
    const file = await store.open(name, 'open');
    await markRestored(file);
    await file.close();
  }
  await store.close();
}

async function mustHoldDatabases(dataFolder: string): Promise<void> {
  if (await holdsDatabases(join(dataFolder, DATABASES_FOLDER))) return;
  throw new DatabaseError(
    'not_found',
    `${dataFolder} holds no databases. Name the data folder of a server, or a backup.`,
  );
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}
