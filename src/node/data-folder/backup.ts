import { access, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError } from '../../base/errors/database-error.ts';
import { REGISTRY_FILE } from '../../database/registry/database-list.ts';
import { markRestored } from '../../database/store/state/stored-head.ts';
import { copyFileOnce } from '../../storage/file-copy.ts';
import { LmdbFileTarget } from '../../storage/lmdb/copying/file-target.ts';
import { listFiles, syncPath } from '../../storage/lmdb/folder.ts';
import { type CopiedFile, copyFiles, type FailedFile } from '../../storage/lmdb/folder-copy.ts';
import { createLmdbPageStore } from '../../storage/lmdb/lmdb-page-store.ts';
import type { PageStore } from '../../storage/page-store.ts';
import type { PostgresSnapshot } from '../../storage/postgres/copying/snapshot.ts';
import {
  backupRemedies,
  type CopiedDatabase,
  type CopyProblem,
  concludeCopy,
  type Findings,
  hasLostWrites,
  listLast,
  nameOfCopy,
  notCopied,
  type Remedies,
  restoreRemedies,
  SETTINGS,
  storageRemedies,
} from './copied-databases.ts';
import { DATABASES_FOLDER, type DataFolder, damagedList, mustHoldDatabases, openDataFolder } from './data-folder.ts';
import { mustHoldTablesOf, openExistingStorage, type StoragePlace } from './maintained-storage.ts';
import { backUpSettings, backUpTable, restoreSettings, type SettingsOutcome } from './settings-copy.ts';

interface BackupOptions extends StoragePlace {
  readonly target: string;
  /** The path of the settings. Default: `settee.ini` in the data folder, which need not exist, or the table of a storage. */
  readonly configFile?: string | undefined;
}

/**
 * Copies every database of a data folder, each in the state of its last commit, or of a storage in PostgreSQL, all as of one moment, and the
 * settings, into `target`, which must not exist yet and becomes a data folder. A server may be using what is copied. Problems come last.
 */
export async function* backupData(options: BackupOptions): AsyncGenerator<CopiedDatabase | CopyProblem> {
  const { dataFolder, storage: url, target, configFile } = options;
  if (url !== undefined) {
    yield* backupStorage(url, options);
    return;
  }
  await mustHoldDatabases(dataFolder);
  const settings = () => backUpSettings({ dataFolder, target, configFile });
  yield* backupInto(target, settings, filesOf(dataFolder), backupRemedies);
}

async function* backupStorage(
  url: string,
  { target, configFile }: BackupOptions,
): AsyncGenerator<CopiedDatabase | CopyProblem> {
  const storage = await openExistingStorage(url);
  try {
    const snapshot = await storage.createSnapshot();
    try {
      mustHoldTablesOf(await snapshot.list(), storage.place);
      const table = await snapshot.readSettings(storage.settings);
      const settings = () => backUpTable(table, { target, configFile });
      yield* backupInto(target, settings, tablesOf(snapshot, storage.place), storageRemedies);
    } finally {
      await snapshot.close();
    }
  } finally {
    await storage.close();
  }
}

async function* backupInto(
  target: string,
  copySettings: () => Promise<SettingsOutcome>,
  files: BackedUpFiles,
  remedies: Remedies,
): AsyncGenerator<CopiedDatabase | CopyProblem> {
  if (await exists(target)) {
    throw new DatabaseError('storage_exists', `${target} exists already. Name a folder that does not exist.`);
  }
  const folder = { path: target, databases: join(target, DATABASES_FOLDER) };
  await mkdir(folder.path, { recursive: true });
  let problems: readonly CopyProblem[] | undefined;
  let settings: SettingsOutcome | undefined;
  try {
    // First: a copy that breaks off later is not a backup, since it has no databases.
    settings = await copySettings();
    if (settings.bytes !== undefined) yield { database: SETTINGS, bytes: settings.bytes };
    problems = yield* copyDatabases(files, folder, remedies);
  } finally {
    if (problems === undefined) await rm(folder.path, { recursive: true, force: true });
  }
  yield* problems;
  yield* settingsProblem(settings);
}

export function settingsProblem({ problem, isLoss }: SettingsOutcome): readonly CopyProblem[] {
  return problem === undefined ? [] : [{ database: SETTINGS, problem, isLoss }];
}

/**
 * Creates the data folder `dataFolder`, which must not hold databases, from a backup, with its settings unless others exist. Extends the
 * lineage of each database, so that indexes and replication notice that it went back in time. Problems come last.
 */
export async function* restoreData(options: {
  readonly source: string;
  readonly dataFolder: string;
}): AsyncGenerator<CopiedDatabase | CopyProblem> {
  await mustHoldDatabases(options.source);
  const folder = await openDataFolder(options.dataFolder);
  try {
    if (await exists(folder.databases)) {
      throw new DatabaseError(
        'storage_exists',
        `${folder.path} holds databases already. Restore into another folder, or move ${folder.databases} away.`,
      );
    }
    // Before there are databases, so that none are served without their admins.
    const settings = await restoreSettings({ source: options.source, dataFolder: folder.path });
    if (settings.bytes !== undefined) yield { database: SETTINGS, bytes: settings.bytes };
    const problems = yield* copyDatabases(filesOf(options.source), folder, restoreRemedies, markAllRestored);
    yield* problems;
    yield* settingsProblem(settings);
  } finally {
    await folder.release();
  }
}

/**
 * Copies into a folder with another name, which is renamed to `databases` at the end, so that an interrupted copy is
 * not taken for a data folder. Returns what is missing from the copy.
 */
async function* copyDatabases(
  source: BackedUpFiles,
  target: Pick<DataFolder, 'path' | 'databases'>,
  remedies: Remedies,
  finish: (store: PageStore, findings: Findings) => Promise<void> = async () => undefined,
): AsyncGenerator<CopiedDatabase, readonly CopyProblem[]> {
  const draft = `${target.databases}.partial`;
  await rm(draft, { recursive: true, force: true });
  const findings: Findings = new Map();
  for await (const copy of source.copyTo(draft)) {
    const { file } = copy;
    findings.set(file, findingOf(copy, remedies));
    if ('failure' in copy) continue;
    if (copy.hasLostWrites && file === REGISTRY_FILE) throw damagedList(source.place);
    yield { database: nameOfCopy(file), bytes: copy.bytes };
  }
  // A copy ends where the journal is damaged: that is one of the findings.
  const store = createLmdbPageStore(draft, { onDamage: () => undefined });
  let problems: readonly CopyProblem[];
  try {
    const present = new Set(await source.present());
    problems = await concludeCopy(store, findings, present, remedies, () => finish(store, findings));
  } finally {
    await store.close();
  }
  await rename(draft, target.databases);
  await syncPath(target.path);
  return problems;
}

/** Where files are copied from, into a folder of files for LMDB. */
interface BackedUpFiles {
  /** For messages. */
  readonly place: string;
  copyTo(folder: string): AsyncIterable<CopiedFile | FailedFile>;
  /** The files that are there when the copy ends. */
  present(): Promise<readonly string[]>;
}

function filesOf(dataFolder: string): BackedUpFiles {
  const databases = join(dataFolder, DATABASES_FOLDER);
  return {
    place: databases,
    copyTo: (folder) => copyFiles(databases, folder, REGISTRY_FILE),
    present: () => listFiles(databases),
  };
}

function tablesOf(snapshot: PostgresSnapshot, place: string): BackedUpFiles {
  return { place, copyTo: (folder) => copySnapshot(snapshot, folder), present: () => snapshot.list() };
}

async function* copySnapshot(snapshot: PostgresSnapshot, folder: string): AsyncGenerator<CopiedFile | FailedFile> {
  const target = new LmdbFileTarget(folder);
  for (const file of listLast(await snapshot.list())) {
    try {
      const copied = await snapshot.use(file, (found) => copyFileOnce(found, target));
      if (copied === undefined) continue;
      await target.publish([file]);
      yield { file, bytes: copied.bytes, hasLostWrites: false };
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.code === 'storage_full' || snapshot.isBroken) throw error;
      yield { file, failure: error };
    }
  }
  await target.removeDrafts();
}

function findingOf(copy: CopiedFile | FailedFile, remedies: Remedies): string | undefined {
  if ('failure' in copy) return notCopied(copy.failure);
  return copy.hasLostWrites ? hasLostWrites(remedies) : undefined;
}

/** A file that can't be opened is removed from the copy: it was copied with its damage. */
async function markAllRestored(store: PageStore, findings: Findings): Promise<void> {
  for (const name of await store.list()) {
    try {
      const file = await store.open(name, 'open');
      await markRestored(file, store.supports.crc32).finally(() => file.close());
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.code === 'storage_full') throw error;
      findings.set(name, notCopied(error));
      await store.destroy(name);
    }
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}
