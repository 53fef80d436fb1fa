import { rm } from 'node:fs/promises';
import { type Database, open, type RootDatabase } from 'lmdb';
import type { JournalRecord, PageNumber } from '../page-store.ts';
import { storageCorrupt, storageNewerFormat } from '../storage-errors.ts';
import { checkDataFile } from './data-file.ts';

/**
 * The layout that this version writes, and the newest that it reads.
 * 1: databases `pages`, `journal` and `state`; in `state` the owner's record, whose LMDB version is the epoch, and the
 *    head.
 */
export const LMDB_FORMAT = 1;

const OWNER = 'owner';
const HEAD = 'head';

/** One LMDB environment with its databases. Nothing in here knows of commits that are under way. */
export interface Environment {
  readonly root: RootDatabase<string, string>;
  readonly state: Database<string, string>;
  readonly journal: Database<string, number>;
  /** The same database twice, seen as text and as bytes. */
  readonly text: Database<string, PageNumber>;
  readonly bytes: Database<Uint8Array, PageNumber>;
}

/** What an environment knows of its owner; its LMDB version is the epoch. */
interface OwnerRecord {
  readonly format: number;
  /** The lowest journal number that the next owner may claim. */
  readonly journalFloor: number;
  /** The generation that holds the file now; this one is out of use. */
  readonly movedTo?: number | undefined;
}

export interface Ownership {
  readonly epoch: number;
  readonly head: string | undefined;
  readonly journal: readonly JournalRecord[];
  readonly nextJournal: number;
}

export async function openEnvironment(file: string, path: string): Promise<Environment> {
  await checkDataFile(file, path);
  const root = openRoot(path);
  try {
    const state = openState(root);
    // Before anything else is opened, so that a newer layout stays as it is.
    readOwner(file, state);
    return openDatabases(root, state);
  } catch (error) {
    await root.close();
    throw error;
  }
}

/** Makes a new data file without an owner, durable when the promise resolves. */
export async function createEnvironment(path: string): Promise<void> {
  const root = openRoot(path);
  try {
    const { state } = openDatabases(root, openState(root));
    root.transactionSync(() => putOwner(state, { format: LMDB_FORMAT, journalFloor: 1 }, 0));
  } finally {
    await root.close();
  }
}

/** Commits that a compacted copy needs before it may free many pages at once. */
const BREAK_IN_COMMITS = 8;

/**
 * Makes a compacted copy fit for use. Its list of free pages is empty and its transaction numbers begin anew; where the first
 * commits then free hundreds of pages, LMDB as of lmdb-js 3.5.6 (2.9 to 3.5.6 were tried) fails in `mdb_page_alloc`, or
 * ends the process with an assertion. A few commits that free a page each prevent that. To be removed once the test
 * "a compacted file can free most of its pages at once" passes without it.
 */
export async function breakIn(path: string): Promise<void> {
  const root = openRoot(path);
  try {
    const state = openState(root);
    for (let commit = 0; commit < BREAK_IN_COMMITS; commit += 1) {
      root.transactionSync(() => void (commit % 2 === 0 ? state.put('break-in', '', 0) : state.remove('break-in')));
    }
  } finally {
    await root.close();
    await rm(`${path}-lock`, { force: true });
  }
}

/**
 * Raises the epoch, and takes the next journal number away from whoever was owner before. Gives the generation to go
 * to where the file has moved on.
 */
export function takeOwnership(file: string, environment: Environment): Ownership | { readonly movedTo: number } {
  const { root, state, journal } = environment;
  return root.transactionSync(() => {
    const { record, epoch } = readOwner(file, state);
    if (record.movedTo !== undefined) return { movedTo: record.movedTo };
    const records = Array.from(journal.getRange({ start: 0 }), ({ key, value }) => ({ number: key, text: value }));
    const claim = Math.max(record.journalFloor, (records.at(-1)?.number ?? 0) + 1);
    putOwner(state, { format: LMDB_FORMAT, journalFloor: claim + 1 }, epoch + 1);
    return { epoch: epoch + 1, head: state.get(HEAD), journal: records, nextJournal: claim + 1 };
  });
}

/** The epoch as the last commit left it. */
export function currentEpoch(file: string, environment: Environment): number {
  environment.root.resetReadTxn();
  return readOwner(file, environment.state).epoch;
}

/** The generation that holds the file now, where that is another one. */
export function movedTo(file: string, environment: Environment): number | undefined {
  return readOwner(file, environment.state).record.movedTo;
}

/**
 * Runs what `enqueue` writes as one transaction, off this thread, if `epoch` is still the current one; else nothing of
 * it happens and the promise gives false.
 */
export function commitAs(environment: Environment, epoch: number, enqueue: () => void): Promise<boolean> {
  return environment.state.ifVersion(OWNER, epoch, enqueue);
}

/** Only within `commitAs`. */
export function enqueueHead(environment: Environment, head: string): void {
  void environment.state.put(HEAD, head, 0);
}

/** Only within `commitAs`. */
export function enqueueFloor(environment: Environment, epoch: number, journalFloor: number): void {
  putOwner(environment.state, { format: LMDB_FORMAT, journalFloor }, epoch);
}

/** Only within `commitAs`. Leads every later opening to another generation. */
export function enqueueMove(environment: Environment, epoch: number, movedTo: number): void {
  putOwner(environment.state, { format: LMDB_FORMAT, journalFloor: 0, movedTo }, epoch);
}

function openRoot(path: string): RootDatabase<string, string> {
  return open<string, string>({
    path,
    noSubdir: true,
    maxDbs: 4,
    encoding: 'string',
    // Commits go out one by one, each a batch of its own. With batching by event turn lmdb-js also makes a promise
    // that nobody can get at, and its rejection (a full disk) would end the process.
    eventTurnBatching: false,
  });
}

function openState(root: RootDatabase<string, string>): Database<string, string> {
  return root.openDB<string, string>({ name: 'state', encoding: 'string', useVersions: true });
}

function openDatabases(root: RootDatabase<string, string>, state: Database<string, string>): Environment {
  return {
    root,
    state,
    journal: root.openDB<string, number>({ name: 'journal', encoding: 'string' }),
    text: root.openDB<string, PageNumber>({ name: 'pages', encoding: 'string' }),
    bytes: root.openDB<Uint8Array, PageNumber>({ name: 'pages', encoding: 'binary' }),
  };
}

function putOwner(state: Database<string, string>, record: OwnerRecord, epoch: number): void {
  void state.put(OWNER, JSON.stringify(record), epoch);
}

function readOwner(file: string, state: Database<string, string>): { record: OwnerRecord; epoch: number } {
  const entry = state.getEntry(OWNER);
  if (entry?.version === undefined) throw storageCorrupt(file, 'its owner record is missing');
  return { record: decodeOwner(file, entry.value), epoch: entry.version };
}

function decodeOwner(file: string, text: string): OwnerRecord {
  const value = parseObject(file, text);
  const format = numberOf(file, value, 'format');
  if (format > LMDB_FORMAT) throw storageNewerFormat(file, format, LMDB_FORMAT);
  const journalFloor = numberOf(file, value, 'journalFloor');
  const movedTo = 'movedTo' in value ? numberOf(file, value, 'movedTo') : undefined;
  return { format, journalFloor, movedTo };
}

function parseObject(file: string, text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return { ...value };
  } catch (error) {
    throw storageCorrupt(file, 'its owner record is not JSON', error);
  }
  throw storageCorrupt(file, 'its owner record is not an object');
}

function numberOf(file: string, value: Record<string, unknown>, name: string): number {
  const member = value[name];
  if (typeof member !== 'number') throw storageCorrupt(file, `"${name}" of its owner record is not a number`);
  return member;
}
