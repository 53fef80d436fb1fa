/** Copies databases from one data folder or storage to another (docs/node.md#copying-to-and-from-postgresql). */
import { crc32 } from 'node:zlib';
import { DatabaseError } from '../../base/errors/database-error.ts';
import { systemClock, systemRandom } from '../../base/shared/clock.ts';
import { silentLog } from '../../base/system/log.ts';
import { addListedFiles, REGISTRY_FILE, readListedFiles } from '../../database/registry/database-list.ts';
import { databaseFileOf } from '../../database/registry/database-name.ts';
import { openRegistry } from '../../database/registry/registry.ts';
import { decodeHead } from '../../database/store/state/head.ts';
import { type CopiedPages, copyFile, type FileSource, type FileState, isSameState } from '../../storage/file-copy.ts';
import type { OnProgress } from '../terminal/progress.ts';
import { mustHoldList } from './data-folder.ts';
import { type MaintainedStorage, openForMaintenance, type StoragePlace } from './maintained-storage.ts';
import { fillSettings, isEmpty } from './settings-copy.ts';

export interface CopyOptions {
  readonly from: StoragePlace;
  readonly to: StoragePlace;
  /** All databases if none is named. `not_found` for a name that does not exist. */
  readonly databases: readonly string[];
  /** Whether databases of the target are replaced that have the same name and another content. */
  readonly replace: boolean;
  /** Gets the number of pages that were read, and how many there are: each is read to copy it, and to compare it. */
  readonly onProgress: OnProgress;
}

/** What was done for one database, or for the settings. */
export interface CopyReport {
  readonly name: string;
  /** `there`: the target had it already. `kept`: settings of the target, which differ. */
  readonly outcome: 'copied' | 'there' | 'kept';
  /** Undefined for settings. */
  readonly documents?: number | undefined;
  readonly figures?: CopiedPages | undefined;
}

/** A database to copy. */
interface Chosen {
  readonly name: string;
  readonly file: string;
  readonly indexes: readonly string[];
  /** Undefined if the target has it, with the same content. */
  readonly state: FileState | undefined;
  /** How many documents its head counts; undefined if its journal has more to say. */
  readonly documents: number | undefined;
}

interface Ends {
  readonly from: MaintainedStorage;
  readonly to: MaintainedStorage;
}

/**
 * Copies databases with their indexes, page by page: documents, revisions, sequences and the history of the file stay as they are. The target sees
 * nothing of it before all is copied and compared; the same command continues what was interrupted. If the target has no databases, and all are
 * copied, it gets the list of databases, too, and with it the uuid of the server. Fails with `storage_locked` if a server uses one of the
 * two, and with `storage_exists` if the target has other data under the name of a database, unless `replace` is set.
 */
export async function* copyData(options: CopyOptions): AsyncGenerator<CopyReport> {
  const from = await openForMaintenance(options.from, { command: 'copy' });
  try {
    const to = await openForMaintenance(options.to, { command: 'copy', mayBeNew: true });
    try {
      yield* copyBetween({ from, to }, options);
    } finally {
      await to.release();
    }
  } finally {
    await from.release();
  }
}

async function* copyBetween(ends: Ends, options: CopyOptions): AsyncGenerator<CopyReport> {
  const { from, to } = ends;
  await completeSource(from, options.databases);
  const chosen = await choose(ends, options);
  const wanted = chosen.filter(({ state }) => state !== undefined);
  const isWhole = options.databases.length === 0 && (await listOf(to)) === undefined;
  const files = wanted.flatMap(({ file, indexes }) => [file, ...indexes]);
  const copied = await copyFiles(ends, isWhole ? [REGISTRY_FILE, ...files] : files, options.onProgress);
  from.mustBeHeld();
  to.mustBeHeld();
  await publish(to, wanted, [...copied.keys()], isWhole);
  const counts = await countDocuments(
    to,
    wanted.map(({ name }) => name),
  );
  for (const { name, file, state, documents } of chosen) {
    const counted = counts.get(name);
    if (state !== undefined && documents !== undefined && counted !== documents)
      throw miscounted(name, documents, counted);
    yield { name, outcome: state === undefined ? 'there' : 'copied', documents: counted, figures: copied.get(file) };
  }
  const settings = await copySettings(ends);
  if (settings !== undefined) yield { name: 'settings', outcome: settings };
}

/**
 * Opens and closes the databases that were not closed in order, or were restored from a backup: what their next opening would complete is
 * then in the copy, and the copy stays equal to its original when it is opened. `names`: all if none is named.
 */
async function completeSource(from: MaintainedStorage, names: readonly string[]): Promise<void> {
  const listed = (await listOf(from)) ?? new Map<string, string>();
  const unclean: string[] = [];
  const source = await from.openSource();
  try {
    for (const [name, file] of listed) {
      if (names.length > 0 && !names.includes(name)) continue;
      const state = await stateOf(source, file);
      if (state !== undefined && !isClean(state, file)) unclean.push(name);
    }
  } finally {
    await source.close();
  }
  if (unclean.length > 0) await countDocuments(from, unclean);
}

function isClean({ head, journal }: FileState, file: string): boolean {
  return head !== undefined && journal.length === 0 && decodeHead(head, file, crc32).clean;
}

/** Compares the databases with those of the target. Fails if one of these would have to be replaced, and may not. */
async function choose({ from, to }: Ends, { databases, replace }: CopyOptions): Promise<Chosen[]> {
  const listed = (await listOf(from)) ?? new Map<string, string>();
  const missing = databases.find((name) => !listed.has(name));
  if (missing !== undefined) {
    throw new DatabaseError(
      'not_found',
      `There is no database "${missing}" in ${from.place}. Check the spelling of its name.`,
    );
  }
  const there = (await listOf(to)) ?? new Map<string, string>();
  const names = databases.length > 0 ? databases : [...listed.keys()].sort();
  return withSources({ from, to }, async (source, target) => {
    const all = await source.list();
    const targetFiles = new Set(await target.list());
    const chosen: Chosen[] = [];
    for (const name of names) {
      const file = listed.get(name) ?? '';
      const state = await stateOf(source, file);
      if (state === undefined) throw lacksFile(name, from.place);
      const current = there.get(name);
      const isSame = current === file && isSameState(state, (await stateOf(target, file)) ?? { ...state, head: '' });
      if (!isSame && !replace && current !== undefined && targetFiles.has(current)) throw hasOther(name, to.place);
      const indexes = all.filter((other) => other !== file && databaseFileOf(other) === file);
      chosen.push({ name, file, indexes, state: isSame ? undefined : state, documents: documentsOf(state, file) });
    }
    return chosen;
  });
}

async function withSources<T>(
  { from, to }: Ends,
  work: (source: FileSource, target: FileSource) => Promise<T>,
): Promise<T> {
  const source = await from.openSource();
  try {
    const target = await to.openSource();
    try {
      return await work(source, target);
    } finally {
      await target.close();
    }
  } finally {
    await source.close();
  }
}

function stateOf(source: FileSource, file: string): Promise<FileState | undefined> {
  return source.use(file, async ({ state }) => state);
}

function documentsOf({ head, journal }: FileState, file: string): number | undefined {
  if (head === undefined || journal.length > 0) return undefined;
  return decodeHead(head, file, crc32).docCount;
}

/** Copies files into the target, where no one sees them yet. An index that can't be read is left out. */
async function copyFiles(
  { from, to }: Ends,
  files: readonly string[],
  onProgress: OnProgress,
): Promise<ReadonlyMap<string, CopiedPages>> {
  const copied = new Map<string, CopiedPages>();
  const source = await from.openSource();
  try {
    let total = 0;
    let done = 0;
    for (const file of files) total += 2 * ((await source.use(file, (found) => found.countPages())) ?? 0);
    for (const file of files) {
      to.mustBeHeld();
      const copy = source.use(file, (found) =>
        copyFile(found, to.target, (pages) => {
          done += pages;
          onProgress(done, total);
        }),
      );
      const figures = await copy.catch((error: unknown) => {
        const isIndex = databaseFileOf(file) !== file && error instanceof DatabaseError;
        if (isIndex && error.code === 'storage_corrupt') return undefined;
        throw error;
      });
      if (figures !== undefined) copied.set(file, figures);
    }
    return copied;
  } finally {
    await source.close();
  }
}

/** `files`: complete copies, those of `wanted` and of its indexes; with the list of databases if the target has none. */
async function publish(
  to: MaintainedStorage,
  wanted: readonly Chosen[],
  files: readonly string[],
  isWhole: boolean,
): Promise<void> {
  const store = to.openStore({ reservesSpace: false });
  try {
    const replaced = new Set(wanted.map(({ file }) => file));
    for (const file of await store.list()) if (replaced.has(databaseFileOf(file))) await store.destroy(file);
    await to.target.publish(files);
    if (!isWhole) {
      const base = { store, clock: systemClock, random: systemRandom, log: silentLog };
      await addListedFiles(base, new Map(wanted.map(({ name, file }) => [name, file])));
    }
    await to.target.removeDrafts();
  } finally {
    await store.close();
  }
}

/** Opens databases as a server does, and closes them in order. */
async function countDocuments(
  storage: MaintainedStorage,
  names: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  const store = storage.openStore({ reservesSpace: false });
  const base = { store, clock: systemClock, random: systemRandom, log: silentLog };
  const registry = await openRegistry({ ...base, config: { get: () => undefined } });
  try {
    for (const name of names) {
      counts.set(name, (await registry.use(name, (database) => database.info())).docCount);
    }
  } finally {
    await registry.close();
  }
  return counts;
}

/** Returns what happened to them; undefined if there are none. */
async function copySettings({ from, to }: Ends): Promise<CopyReport['outcome'] | undefined> {
  const settings = await from.settings.load();
  if (await from.settings.hasAdminMark()) await to.settings.markAdmins(true);
  if (await from.settings.exist()) await to.settings.create();
  if (isEmpty(settings)) return undefined;
  const outcomes = { filled: 'copied', same: 'there', others: 'kept' } as const;
  return outcomes[await fillSettings(to.settings, settings)];
}

/** The file of each database, by its name; undefined if there is no list. */
async function listOf(storage: MaintainedStorage): Promise<ReadonlyMap<string, string> | undefined> {
  const store = storage.openStore({ reservesSpace: false });
  try {
    const advice = 'Restore it from a backup, or name another place.';
    if (!mustHoldList(await store.list(), storage.place, advice)) return undefined;
    return await readListedFiles({ store, clock: systemClock, random: systemRandom, log: silentLog });
  } finally {
    await store.close();
  }
}

function lacksFile(name: string, place: string): DatabaseError {
  const reason = `The file of the database "${name}" is missing in ${place}. Restore it from a backup, delete the database, or name the others: settee copy … DB…`;
  return new DatabaseError('storage_missing', reason);
}

function hasOther(name: string, place: string): DatabaseError {
  const reason = `${place} has another database "${name}" already. Nothing was changed. Name other databases, or add --replace, which deletes that one.`;
  return new DatabaseError('storage_exists', reason);
}

function miscounted(name: string, expected: number, counted: number | undefined): DatabaseError {
  const reason = `The copy of "${name}" has ${counted} documents instead of ${expected}. Run "settee verify" on both, and copy it again with --replace.`;
  return new DatabaseError('storage_corrupt', reason);
}
