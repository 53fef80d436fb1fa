/** What a backup, or a restored storage, contains, and what it lacks. */
import type { DatabaseError } from '../../base/errors/database-error.ts';
import { systemClock, systemRandom } from '../../base/shared/clock.ts';
import { silentLog } from '../../base/system/log.ts';
import { REGISTRY_FILE, readListedFiles } from '../../database/registry/database-list.ts';
import { databaseFileOf, isDatabaseFile } from '../../database/registry/database-name.ts';
import type { PageStore } from '../../storage/page-store.ts';

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
export const SETTINGS = 'settings';

/** Sentences that say what to do about data that is missing from a copy. */
export interface Remedies {
  /** For a database that has lost its last writes. */
  readonly lostWrites: string;
  /** For a database that is listed and has no file. */
  readonly missing: string;
}

export const backupRemedies: Remedies = {
  lostWrites:
    'A server that has the data folder open still has them: stop it with SIGTERM, and make another backup. Without such a server they are lost; restore them from an earlier backup or another replica.',
  missing: 'Its file is missing from the data folder. Restore it from an earlier backup, or delete the database.',
};

export const storageRemedies: Remedies = {
  ...backupRemedies,
  missing: 'Its file is missing from the storage. Restore it from an earlier backup, or delete the database.',
};

export const restoreRemedies: Remedies = {
  lostWrites: 'They are lost; restore them from another backup or another replica.',
  missing:
    'The backup does not contain it. Restore it from another backup; requests for it fail until the database is deleted.',
};

/** By file of the source, in the order of copying: what is wrong with it, or undefined. */
export type Findings = Map<string, string | undefined>;

/** How a copied file is called in a report. */
export function nameOfCopy(file: string): string {
  return file === REGISTRY_FILE ? 'list of databases' : file;
}

/** The files in the order in which they are copied: the list of databases last, so that it is known which files it should name. */
export function listLast(files: readonly string[]): string[] {
  const others = files.filter((file) => file !== REGISTRY_FILE);
  return others.length < files.length ? [...others, REGISTRY_FILE] : others;
}

export function notCopied({ reason }: DatabaseError): string {
  return `It is not in the copy. ${reason.replace(/\.?$/, '.')}`;
}

export function hasLostWrites({ lostWrites }: Remedies): string {
  return `Its journal is damaged, and the copy lacks the last writes, those after the damage. ${lostWrites}`;
}

/**
 * Removes databases that were deleted or created while the others were copied: the list in the copy does not name them. Returns what the copy
 * lacks. `present`: the files that the source still has. One that was removed meanwhile may have failed because of that. `finish`: called before
 * the problems are counted, and may add some.
 */
export async function concludeCopy(
  store: PageStore,
  findings: Findings,
  present: ReadonlySet<string>,
  remedies: Remedies,
  finish: () => Promise<void> = async () => undefined,
): Promise<readonly CopyProblem[]> {
  const listed = await readListedFiles({ store, clock: systemClock, random: systemRandom, log: silentLog });
  await removeDeleted(store, new Set(listed.values()), findings, present);
  await finish();
  return problemsOf(listed, findings, present, remedies);
}

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
