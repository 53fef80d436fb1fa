/** Creates a storage in PostgreSQL from a backup, which is a data folder. */
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { DatabaseError, type ErrorCode } from '../../base/errors/database-error.ts';
import { REGISTRY_FILE } from '../../database/registry/database-list.ts';
import { isDatabaseFile } from '../../database/registry/database-name.ts';
import { restoredHead } from '../../database/store/state/stored-head.ts';
import { copyFile, type FileTarget, type ReadableFile } from '../../storage/file-copy.ts';
import { LmdbFileSource } from '../../storage/lmdb/copying/file-source.ts';
import { settingsProblem } from './backup.ts';
import {
  type CopiedDatabase,
  type CopyProblem,
  concludeCopy,
  type Findings,
  hasLostWrites,
  listLast,
  nameOfCopy,
  notCopied,
  restoreRemedies,
  SETTINGS,
} from './copied-databases.ts';
import { DATABASES_FOLDER, damagedList, mustHoldDatabases } from './data-folder.ts';
import { type MaintainedStorage, openForMaintenance } from './maintained-storage.ts';
import { restoreIntoTable } from './settings-copy.ts';

/** Failures that the next file would meet, too. */
const GENERAL: readonly ErrorCode[] = ['storage_full', 'storage_blocked', 'storage_fenced', 'storage_closed'];

/**
 * Like `restoreData`. Until all databases are copied none is visible, and the same command continues what was interrupted. `url`: of the
 * storage, which must not hold databases. No server may use the backup meanwhile.
 */
export async function* restoreToStorage(source: string, url: string): AsyncGenerator<CopiedDatabase | CopyProblem> {
  await mustHoldDatabases(source);
  const storage = await openForMaintenance({ dataFolder: '', storage: url }, { command: 'restore', mayBeNew: true });
  try {
    await mustHoldNoDatabases(storage);
    const settings = await restoreIntoTable(source, storage.settings);
    if (settings.bytes !== undefined) yield { database: SETTINGS, bytes: settings.bytes };
    const findings: Findings = new Map();
    const copied = yield* copyFiles(join(source, DATABASES_FOLDER), storage.target, findings);
    storage.mustBeHeld();
    await storage.target.publish(copied);
    await storage.target.removeDrafts();
    const store = storage.openStore();
    try {
      yield* await concludeCopy(store, findings, new Set(findings.keys()), restoreRemedies);
    } finally {
      await store.close();
    }
    yield* settingsProblem(settings);
  } finally {
    await storage.release();
  }
}

async function mustHoldNoDatabases(storage: MaintainedStorage): Promise<void> {
  const source = await storage.openSource();
  try {
    const files = await source.list();
    if (!files.some((file) => file === REGISTRY_FILE || isDatabaseFile(file))) return;
    throw new DatabaseError(
      'storage_exists',
      `${storage.place} holds databases already. Restore into another schema (…?schema=NAME) or database.`,
    );
  } finally {
    await source.close();
  }
}

/** Returns the files that were copied. */
async function* copyFiles(
  databases: string,
  target: FileTarget,
  findings: Findings,
): AsyncGenerator<CopiedDatabase, string[]> {
  const copied: string[] = [];
  const damaged = new Set<string>();
  const source = new LmdbFileSource(databases, (file) => damaged.add(file));
  for (const file of listLast(await source.list())) {
    findings.set(file, undefined);
    try {
      const done = await source.use(file, (found) => copyFile(restored(found), target));
      if (done === undefined) continue;
      copied.push(file);
      if (damaged.has(file)) {
        if (file === REGISTRY_FILE) throw damagedList(databases);
        findings.set(file, hasLostWrites(restoreRemedies));
      }
      yield { database: nameOfCopy(file), bytes: done.bytes };
    } catch (error) {
      if (!(error instanceof DatabaseError) || GENERAL.includes(error.code) || file === REGISTRY_FILE) throw error;
      findings.set(file, notCopied(error));
    }
  }
  return copied;
}

/** See `markRestored`. */
function restored(file: ReadableFile): ReadableFile {
  const { state, name } = file;
  if (state.head === undefined) return file;
  return { ...file, state: { ...state, head: restoredHead(state.head, name, crc32) } };
}
