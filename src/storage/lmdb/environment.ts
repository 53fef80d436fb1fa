import { existsSync, linkSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { ABORT, type Database, open, type RootDatabase } from 'lmdb';
import type { DatabaseError } from '../../base/errors/database-error.ts';
import { heldMs, isThreadWanted, TimeSlice } from '../../base/shared/turn.ts';
import type { FileState } from '../file-copy.ts';
import type { JournalRecord, Opening, PageNumber } from '../page-store.ts';
import { storageCorrupt } from '../storage-errors.ts';
import { checkDataFile } from './data-file.ts';
import { hasCode } from './folder.ts';
import { mustHaveDescriptors } from './host-limits.ts';
import { type JournalDamage, type RecoveredJournal, recoverJournal, spansOf } from './journal-recovery.ts';
import { findSegments, type LoadedSegments } from './journal-segment.ts';
import { decodeOwner, encodeOwner, LMDB_FORMAT, type OwnerRecord } from './owner-record.ts';

const OWNER = 'owner';
const HEAD = 'head';
const JOURNAL = 'journal';
const PAGES = 'pages';

const NO_OWNER: OwnerRecord = { format: LMDB_FORMAT, start: 1, truncated: 0, earlier: [] };

/** One LMDB environment with its databases. Nothing in here tracks running commits. */
export interface Environment {
  readonly root: RootDatabase<string, string>;
  readonly state: Database<string, string>;
  readonly journal: Database<string, number>;
  /** The same database, seen as bytes. */
  readonly journalBytes: Database<Uint8Array, number>;
  /** The same database twice, seen as text and as bytes. */
  readonly text: Database<string, PageNumber>;
  readonly bytes: Database<Uint8Array, PageNumber>;
}

export interface Ownership {
  readonly opening: Opening;
  readonly journal: RecoveredJournal;
}

interface EnvironmentOptions {
  /** For callers that are not owners. LMDB creates a missing data file unless it may only read. */
  readonly readOnly?: boolean;
  /** Whether to check the structure of the whole data file first. */
  readonly checksWholly?: boolean;
  /** Called in the turn in which LMDB opens the file, before it does. What it throws ends the opening. */
  readonly beforeOpening?: () => void;
}

export async function openEnvironment(
  file: string,
  path: string,
  { readOnly = false, checksWholly = false, beforeOpening }: EnvironmentOptions = {},
): Promise<Environment> {
  await checkDataFile(file, path, checksWholly);
  await turnForCommit();
  beforeOpening?.();
  const root = openRoot(path, readOnly);
  try {
    const state = openState(root);
    // Before anything else is opened, so that a newer layout stays as it is.
    readOwner(file, state);
    mustHaveDatabases(file, root);
    return openDatabases(root, state);
  } catch (error) {
    await root.close();
    throw error;
  }
}

/** If a caller gets a turn within this time, no other opening has preceded it in the turn. */
const FIRST_OF_TURN_MS = 1;

/**
 * Resolves when this turn of the event loop has time to open an environment, or for a commit that waits for the disk: if many are opened
 * at once, each gets its own turn, and other work runs in between.
 */
export async function turnForCommit(): Promise<void> {
  if (isThreadWanted() || heldMs() >= FIRST_OF_TURN_MS) await new TimeSlice().endTurn();
}

/** Reopens one that this process had open, in the same turn. Only if the data file still exists: LMDB would create another. */
export function reopenEnvironment(path: string, readOnly: boolean): Environment {
  const root = openRoot(path, readOnly);
  try {
    return openDatabases(root, openState(root));
  } catch (error) {
    void root.close();
    throw error;
  }
}

/**
 * Closes one that has no running commit. If it was written to, LMDB as of lmdb-js 3.5.6 keeps the list of free pages of the last
 * commit, and forgets to free its memory on closing; a transaction that is rolled back frees it.
 */
export async function closeEnvironment({ root }: Environment, readOnly = false): Promise<void> {
  try {
    if (!readOnly) root.transactionSync(() => ABORT);
  } finally {
    await root.close();
  }
}

/** Makes a new data file without an owner, durable when the promise resolves. */
export async function createEnvironment(path: string): Promise<void> {
  await turnForCommit();
  const root = openRoot(path);
  try {
    const { state } = openDatabases(root, openState(root));
    root.transactionSync(() => putOwner(state, NO_OWNER, 0));
  } finally {
    await root.close();
  }
}

/** Number of commits that a compacted copy needs before it may free many pages at once. */
const BREAK_IN_COMMITS = 8;

/**
 * Makes a compacted copy fit for use. Its list of free pages is empty and its transaction numbers start again; if the first
 * commits then free hundreds of pages, LMDB as of lmdb-js 3.5.6 (2.9 to 3.5.6 were tried) fails in `mdb_page_alloc`, or
 * ends the process with an assertion. A few commits that free a page each prevent that. To be removed once the test
 * "a compacted file can free most of its pages at once" passes without it.
 */
export async function breakIn(path: string): Promise<void> {
  const root = openRoot(path);
  try {
    const state = openState(root);
    for (let commit = 0; commit < BREAK_IN_COMMITS; commit += 1) {
      await turnForCommit();
      root.transactionSync(() => void (commit % 2 === 0 ? state.put('break-in', '', 0) : state.remove('break-in')));
    }
  } finally {
    await root.close();
    await rm(`${path}-lock`, { force: true });
  }
}

/**
 * Raises the epoch, and takes the next journal number from the former owner, in the same turn of the event
 * loop as it reads the segments of the journal, so that no owner in this process can append to one meanwhile. Returns the
 * generation to go to if the file has moved on.
 *
 * @param onDamage called if the journal is damaged; if it throws, nothing changes, otherwise what can't be read is dropped.
 */
export function takeOwnership(
  file: string,
  environment: Environment,
  folder: string,
  onDamage: (damage: JournalDamage) => void,
): Ownership | { readonly movedTo: number } {
  const { root, state, journal } = environment;
  return root.transactionSync(() => {
    const { record, epoch } = readOwner(file, state);
    if (record.movedTo !== undefined) return { movedTo: record.movedTo };
    const { start, truncated } = record;
    const { inEnvironment, recovered } = readJournal(environment, folder, record, epoch);
    if (recovered.damage !== undefined) onDamage(recovered.damage);
    const end = (recovered.records.at(-1)?.number ?? 0) + 1;
    // After a gap; if kept, they would reappear once the gap is below the truncation.
    for (const { number } of inEnvironment) if (number >= end) void journal.remove(number);
    const claim = Math.max(start, truncated, end);
    const nextJournal = claim + 1;
    putOwner(state, { format: LMDB_FORMAT, start: nextJournal, truncated, earlier: recovered.spans }, epoch + 1);
    const opening = { epoch: epoch + 1, head: state.get(HEAD), journal: recovered.records, nextJournal };
    return { opening, journal: recovered };
  });
}

/** Returns whether the journal of a file that no one writes to is damaged, and has lost records. Changes nothing. */
export function hasLostRecords(file: string, environment: Environment, folder: string): boolean {
  const { record, epoch } = readOwner(file, environment.state);
  return readJournal(environment, folder, record, epoch).recovered.damage !== undefined;
}

/** Returns the state of a file that no one writes to, and the damage of its journal, which then ends before it. Changes nothing. */
export function readState(
  file: string,
  environment: Environment,
  folder: string,
): { readonly state: FileState; readonly damage: JournalDamage | undefined } {
  const { record, epoch } = readOwner(file, environment.state);
  const { records, damage } = readJournal(environment, folder, record, epoch).recovered;
  const nextClaim = Math.max(record.start, record.truncated, (records.at(-1)?.number ?? 0) + 1);
  const head = environment.state.get(HEAD);
  return { state: { epoch, head, journal: records, truncated: record.truncated, nextClaim }, damage };
}

/** Gives a new data file the state of another file, durably. All journal records then lie in LMDB. */
export function writeState({ root, state, journal }: Environment, copied: FileState): void {
  const { epoch, head, truncated, nextClaim } = copied;
  const earlier = spansOf(copied.journal).map((span) => ({ ...span, epoch }));
  root.transactionSync(() => {
    putOwner(state, { format: LMDB_FORMAT, start: nextClaim, truncated, earlier }, epoch);
    if (head !== undefined) void state.put(HEAD, head, 0);
    for (const { number, text } of copied.journal) void journal.put(number, text);
  });
}

/** What a follower compares to notice that something else than the end of the journal has changed. */
export interface OwnerMark {
  readonly epoch: number;
  /** The owner's record, encoded. */
  readonly owner: string;
  readonly head: string | undefined;
}

/** Returns it as of the last commit, and begins the read transaction of this turn there. */
export function readMark(file: string, { root, state }: Environment): OwnerMark {
  root.resetReadTxn();
  const entry = state.getEntry(OWNER);
  if (entry?.version === undefined) throw ownerMissing(file);
  return { epoch: entry.version, owner: entry.value, head: state.get(HEAD) };
}

/**
 * Returns the journal as this turn's transaction and the segments have it, which were loaded before that began: so a record that
 * LMDB has is never missing before one of a segment.
 */
export function readFollowedJournal(
  environment: Environment,
  owner: OwnerRecord,
  epoch: number,
  loaded: LoadedSegments,
): RecoveredJournal {
  return readJournal(environment, loaded, owner, epoch).recovered;
}

function readJournal(
  { journal }: Environment,
  source: string | LoadedSegments,
  { start, truncated, earlier }: OwnerRecord,
  epoch: number,
): { readonly inEnvironment: readonly JournalRecord[]; readonly recovered: RecoveredJournal } {
  const inEnvironment = Array.from(journal.getRange({ start: 0 }), ({ key, value }) => ({ number: key, text: value }));
  const formerSpans = earlier ?? spansOf(inEnvironment.filter(({ number }) => number < start));
  // Where the former owner's records end is not known yet.
  const spans = [...formerSpans, { epoch, from: start, end: Number.POSITIVE_INFINITY }];
  const loaded = typeof source === 'string' ? { segments: findSegments(source) } : source;
  const recovered = recoverJournal({ ...loaded, inEnvironment, spans, truncated });
  return { inEnvironment, recovered };
}

/** Returns the epoch as of the last commit. */
export function currentEpoch(file: string, environment: Environment): number {
  environment.root.resetReadTxn();
  const epoch = environment.state.getEntry(OWNER)?.version;
  if (epoch === undefined) throw ownerMissing(file);
  return epoch;
}

/** Returns the generation that holds the file now, if that is another one, as of the last commit. */
export function movedTo(file: string, environment: Environment): number | undefined {
  environment.root.resetReadTxn();
  return readOwner(file, environment.state).record.movedTo;
}

/**
 * Runs what `enqueue` writes as one transaction, off this thread, if `epoch` is still the current one; otherwise none of
 * it happens and the promise resolves to false.
 */
export function commitAs(environment: Environment, epoch: number, enqueue: () => void): Promise<boolean> {
  return environment.state.ifVersion(OWNER, epoch, enqueue);
}

/** Only within `commitAs`. */
export function enqueueHead(environment: Environment, head: string): void {
  void environment.state.put(HEAD, head, 0);
}

/** Only within `commitAs`. Records where the journal begins and what it consists of, as of this owner's opening. */
export function enqueueTruncation(
  environment: Environment,
  epoch: number,
  marks: Pick<OwnerRecord, 'start' | 'truncated' | 'earlier'>,
): void {
  putOwner(environment.state, { format: LMDB_FORMAT, ...marks }, epoch);
}

/** Only within `commitAs`. Directs every later opening to another generation. */
export function enqueueMove(environment: Environment, epoch: number, movedTo: number): void {
  putOwner(environment.state, { ...NO_OWNER, movedTo }, epoch);
}

/** Room for about 250 readers; LMDB uses the length of an existing lock file, and itself asks for half of that. */
const LOCK_FILE_BYTES = 16_384;

/**
 * Reserves disk space for the lock file. LMDB creates it sparse and writes to it through a memory map: on a full
 * disk the system ends the process for that (SIGBUS), but this fails like any other write. Linked into its place,
 * so that no one finds it half made or has it emptied while in use.
 */
function reserveLockFile(path: string): void {
  const draft = `${path}-lock.${crypto.randomUUID()}`;
  try {
    writeFileSync(draft, new Uint8Array(LOCK_FILE_BYTES), { flag: 'wx' });
    linkSync(draft, `${path}-lock`);
  } catch (error) {
    // One is there already; or the file system has no links, and LMDB creates its own.
    if (!hasCode(error, 'EEXIST') && !hasCode(error, 'EPERM') && !hasCode(error, 'ENOTSUP')) throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function openRoot(path: string, readOnly = false): RootDatabase<string, string> {
  mustHaveDescriptors();
  if (!readOnly && !existsSync(`${path}-lock`)) reserveLockFile(path);
  return open<string, string>({
    path,
    readOnly,
    noSubdir: true,
    maxDbs: 4,
    encoding: 'string',
    // Commits are sent one by one, each as its own batch. With batching by event turn lmdb-js also makes a promise
    // that no one can access, and its rejection (a full disk) would end the process.
    eventTurnBatching: false,
    // A commit resolves when it is on the disk, as it does with overlapping, too. With overlapping, lmdb-js waits
    // forever on closing after a commit that failed (a full disk).
    overlappingSync: false,
  });
}

function openState(root: RootDatabase<string, string>): Database<string, string> {
  return root.openDB<string, string>({ name: 'state', encoding: 'string', useVersions: true });
}

/** Fails if one is missing. LMDB would create it, and no one would notice the loss. */
function mustHaveDatabases(file: string, root: RootDatabase<string, string>): void {
  const names = new Set(root.getKeys());
  for (const name of [JOURNAL, PAGES]) {
    if (!names.has(name)) throw storageCorrupt(file, `its data file has no database "${name}"`);
  }
}

function openDatabases(root: RootDatabase<string, string>, state: Database<string, string>): Environment {
  return {
    root,
    state,
    journal: root.openDB<string, number>({ name: JOURNAL, encoding: 'string' }),
    journalBytes: root.openDB<Uint8Array, number>({ name: JOURNAL, encoding: 'binary' }),
    text: root.openDB<string, PageNumber>({ name: PAGES, encoding: 'string' }),
    bytes: root.openDB<Uint8Array, PageNumber>({ name: PAGES, encoding: 'binary' }),
  };
}

function putOwner(state: Database<string, string>, record: OwnerRecord, epoch: number): void {
  void state.put(OWNER, encodeOwner(record, epoch), epoch);
}

function readOwner(file: string, state: Database<string, string>): { record: OwnerRecord; epoch: number } {
  const entry = state.getEntry(OWNER);
  if (entry?.version === undefined) throw ownerMissing(file);
  return { record: decodeOwner(file, entry.value, entry.version), epoch: entry.version };
}

function ownerMissing(file: string): DatabaseError {
  return storageCorrupt(file, 'its owner record is missing');
}
