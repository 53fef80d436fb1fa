import { access, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError } from '../../base/errors/database-error.ts';
import { systemClock, systemRandom } from '../../base/shared/clock.ts';
import { silentLog } from '../../base/system/log.ts';
import { REGISTRY_FILE, readListedFiles } from '../../database/registry/database-list.ts';
import { databaseFileOf, isDatabaseFile } from '../../database/registry/database-name.ts';
import { markRestored } from '../../database/store/state/stored-head.ts';
import { listFiles, syncPath } from '../../storage/lmdb/folder.ts';
import { type CopiedFile, copyFiles, type FailedFile } from '../../storage/lmdb/folder-copy.ts';
import { createLmdbPageStore } from '../../storage/lmdb/lmdb-page-store.ts';
import { DATABASES_FOLDER, type DataFolder, damagedList, mustHoldDatabases, openDataFolder } from './data-folder.ts';
import { backUpSettings, restoreSettings, type SettingsOutcome } from './settings-copy.ts';

/** What was copied: a database, the list of databases, an index, or the settings. */
export interface CopiedDatabase {
  readonly database: string;
  readonly bytes: number;
}

/** A database, an index or settings that are missing from the copy, or not complete in it. */
export interface CopyProblem {
  readonly database: string;
  /** What is wrong, and what to do about it. */
  readonly problem: string;
  /** False for an index, which is built again from the documents. */
  readonly isLoss: boolean;
}

/** The name of the settings in the list of copied items. */
const SETTINGS = 'settings';

/**
 * Copies every database of a data folder, each in the state of its last commit, and the settings, into `target`, which must not
 * exist yet and becomes a data folder itself. A server may be using the folder. Problems come last.
 */
export async function* backupData(options: {
  readonly dataFolder: string;
  readonly target: string;
  /** The path of the settings. Default: `settee.ini` in the data folder, which need not exist. */
  readonly configFile?: string | undefined;
}): AsyncGenerator<CopiedDatabase | CopyProblem> {
  await mustHoldDatabases(options.dataFolder);
  if (await exists(options.target)) {
    throw new DatabaseError('storage_exists', `${options.target} exists already. Name a folder that does not exist.`);
  }
  const folder = { path: options.target, databases: join(options.target, DATABASES_FOLDER) };
  await mkdir(folder.path, { recursive: true });
  let problems: readonly CopyProblem[] | undefined;
  let settings: SettingsOutcome | undefined;
  try {
    // First: a copy that breaks off later is not a backup, since it has no databases.
    settings = await backUpSettings({ ...options, configFile: options.configFile });
    if (settings.bytes !== undefined) yield { database: SETTINGS, bytes: settings.bytes };
    problems = yield* copyDatabases(options.dataFolder, folder, backupRemedies);
  } finally {
    if (problems === undefined) await rm(folder.path, { recursive: true, force: true });
  }
  yield* problems;
  yield* settingsProblem(settings);
}

function settingsProblem({ problem, isLoss }: SettingsOutcome): readonly CopyProblem[] {
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
    const problems = yield* copyDatabases(options.source, folder, restoreRemedies, markAllRestored);
    yield* problems;
    yield* settingsProblem(settings);
  } finally {
    await folder.release();
  }
}

type PageStore = ReturnType<typeof createLmdbPageStore>;

/** Sentences that say what to do about data that is missing from a copy. */
interface Remedies {
  /** For a database that has lost its last writes. */
  readonly lostWrites: string;
  /** For a database that is listed and has no file. */
  readonly missing: string;
}

const backupRemedies: Remedies = {
  lostWrites:
    'A server that has the data folder open still has them: stop it with SIGTERM, and make another backup. Without such a server they are lost; restore them from an earlier backup or another replica.',
  missing: 'Its file is missing from the data folder. Restore it from an earlier backup, or delete the database.',
};

const restoreRemedies: Remedies = {
  lostWrites: 'They are lost; restore them from another backup or another replica.',
  missing:
    'The backup does not contain it. Restore it from another backup; requests for it fail until the database is deleted.',
};

/** By file of the source, in the order of copying: what is wrong with it, or undefined. */
type Findings = Map<string, string | undefined>;

/**
 * Copies into a folder with another name, which is renamed to `databases` at the end, so that an interrupted copy is
 * not taken for a data folder. Returns what is missing from the copy.
 */
async function* copyDatabases(
  source: string,
  target: Pick<DataFolder, 'path' | 'databases'>,
  remedies: Remedies,
  finish: (store: PageStore, findings: Findings) => Promise<void> = async () => undefined,
): AsyncGenerator<CopiedDatabase, readonly CopyProblem[]> {
  const databases = join(source, DATABASES_FOLDER);
  const draft = `${target.databases}.partial`;
  await rm(draft, { recursive: true, force: true });
  const findings: Findings = new Map();
  for await (const copy of copyFiles(databases, draft, REGISTRY_FILE)) {
    const { file } = copy;
    findings.set(file, findingOf(copy, remedies));
    if ('failure' in copy) continue;
    if (copy.hasLostWrites && file === REGISTRY_FILE) throw damagedList(databases);
    yield { database: file === REGISTRY_FILE ? 'list of databases' : file, bytes: copy.bytes };
  }
  // A copy ends where the journal is damaged: that is one of the findings.
  const store = createLmdbPageStore(draft, { onDamage: () => undefined });
  const present = new Set(await listFiles(databases));
  let listed: ReadonlyMap<string, string>;
  try {
    listed = await readListedFiles({ store, clock: systemClock, random: systemRandom, log: silentLog });
    await removeDeleted(store, new Set(listed.values()), findings, present);
    await finish(store, findings);
  } finally {
    await store.close();
  }
  await rename(draft, target.databases);
  await syncPath(target.path);
  return problemsOf(listed, findings, present, remedies);
}

function findingOf(copy: CopiedFile | FailedFile, { lostWrites }: Remedies): string | undefined {
  if ('failure' in copy) return notCopied(copy.failure);
  if (copy.hasLostWrites)
    return `Its journal is damaged, and the copy lacks the last writes, those after the damage. ${lostWrites}`;
  return undefined;
}

function notCopied({ reason }: DatabaseError): string {
  return `It is not in the copy. ${reason.replace(/\.?$/, '.')}`;
}

/** Removes databases that were deleted or created while the others were copied: the list in the copy does not name them. */
async function removeDeleted(
  store: PageStore,
  listed: ReadonlySet<string>,
  findings: Findings,
  present: ReadonlySet<string>,
): Promise<void> {
  const seen = [...findings.keys()];
  for (const file of await store.list()) {
    if (!isDatabaseFile(file) || listed.has(databaseFileOf(file))) continue;
    const isLater = seen.indexOf(file) > seen.indexOf(REGISTRY_FILE);
    if (isLater || !present.has(file)) await store.destroy(file);
  }
}

/** @param present the files that the source still has: one that was removed meanwhile may have failed because of that. */
function problemsOf(
  listed: ReadonlyMap<string, string>,
  findings: Findings,
  present: ReadonlySet<string>,
  { missing }: Remedies,
): CopyProblem[] {
  const problems: CopyProblem[] = [];
  for (const [database, file] of listed) {
    const problem = findings.has(file) ? findings.get(file) : missing;
    if (problem !== undefined) problems.push({ database, problem, isLoss: true });
  }
  const named = new Set(listed.values());
  for (const [file, finding] of findings) {
    if (finding === undefined || named.has(file) || !present.has(file)) continue;
    const isIndex = databaseFileOf(file) !== file;
    const damagedIndex = 'This index is damaged, and is not in the copy. It is rebuilt when it is next queried.';
    problems.push({ database: file, problem: isIndex ? damagedIndex : finding, isLoss: false });
  }
  return problems;
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
