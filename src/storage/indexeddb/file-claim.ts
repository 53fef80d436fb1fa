import type { IDBPObjectStore, IDBPTransaction } from 'idb';
import type { JournalRecord, Opening } from '../page-store.ts';
import { storageCorrupt, storageFenced } from '../storage-errors.ts';
import type { FileDatabase, FileSchema, HeadValue, JournalValue, PageCounts } from './schema.ts';

/**
 * A claim stays in the journal when it is truncated, since it stops a stale owner. So that claims don't
 * accumulate forever, claims that at least this many later owners followed are removed.
 */
const KEPT_CLAIMS = 1024;

type OpeningTransaction = IDBPTransaction<FileSchema, ['journal', 'head'], 'readwrite'>;
type ReadingTransaction = IDBPTransaction<FileSchema, ['journal', 'head'], 'readonly' | 'readwrite'>;

/** The store `head` in a transaction that may write. */
export type WritableHead = Pick<IDBPObjectStore<FileSchema, ['head'], 'head', 'readwrite'>, 'get' | 'put' | 'delete'>;

/** What an owner knows about the file that it has claimed. */
export interface FileClaim {
  readonly opening: Opening;
  readonly pageCounts: PageCounts;
  readonly journalFloor: number;
  /** Numbers of the claims at or above the floor, ascending. */
  readonly claims: readonly number[];
}

/** The claim of the owner that created the file. */
export const FIRST_CLAIM: FileClaim = {
  opening: { epoch: 1, head: undefined, journal: [], nextJournal: 2 },
  pageCounts: { pages: 0, bytes: 0, kept: 0 },
  journalFloor: 1,
  claims: [1],
};

/** A file as a claim finds it, and what the claim would write. */
interface ReadFile {
  readonly claim: FileClaim;
  readonly claimed: number;
  readonly lost: readonly number[];
  readonly claimMark: unknown;
}

/** How to read a journal that is also in segments, once these are sealed; the epoch was raised for that. */
interface JournalReading {
  /** Default: one above the file's. */
  readonly epoch?: number;
  /** Whether `read` includes the segments. Default: whether `epoch` is given. */
  readonly hasSegments?: boolean;
  /** Reads the journal from IndexedDB's numbers at or above the floor, ascending, and the values stored under them. */
  read(numbers: readonly number[], values: readonly JournalValue[], floor: number): ReadJournal;
}

/** Writes the first claim, in the version change that makes the file. */
export function claimNewFile(transaction: IDBTransaction): void {
  const { epoch } = FIRST_CLAIM.opening;
  transaction.objectStore('journal').add(epoch, FIRST_CLAIM.journalFloor);
  const head = transaction.objectStore('head');
  head.put(epoch, 'epoch');
  head.put({ holds: 'file' }, `owner-${epoch}`);
}

/**
 * Claims the file in one transaction: raises the epoch, reads the journal, and adds a claim under the number that a stale owner would
 * write next. If the journal is in segments as well and no `reading` is given, changes nothing and returns the segments' token.
 */
export function claimFile(file: string, database: FileDatabase): Promise<FileClaim | string>;
export function claimFile(file: string, database: FileDatabase, reading: JournalReading): Promise<FileClaim>;
export async function claimFile(
  file: string,
  database: FileDatabase,
  reading: JournalReading = { read: readStored },
): Promise<FileClaim | string> {
  const transaction = database.transaction(['journal', 'head'], 'readwrite', { durability: 'relaxed' });
  // Handled from the start: if a request fails, this does, too, and must not go unhandled.
  const done = transaction.done.catch((error: unknown) => error);
  const claim = await claimIn(file, transaction, reading).catch(async (error: unknown) => {
    // If requests failed because the transaction was aborted, only the transaction knows why.
    throw (await done) ?? error;
  });
  const failure = await done;
  if (failure !== undefined) throw failure;
  return claim;
}

/** Returns what `claimFile` would return; for use when there is no room for a claim. Changes nothing. */
export function readUnclaimed(file: string, database: FileDatabase): Promise<FileClaim | string>;
export function readUnclaimed(file: string, database: FileDatabase, reading: JournalReading): Promise<FileClaim>;
export async function readUnclaimed(
  file: string,
  database: FileDatabase,
  reading: JournalReading = { read: readStored },
): Promise<FileClaim | string> {
  const transaction = database.transaction(['journal', 'head']);
  transaction.done.catch(() => undefined);
  const found = await readIn(file, transaction, reading);
  return typeof found === 'string' ? found : found.claim;
}

async function claimIn(
  file: string,
  transaction: OpeningTransaction,
  reading: JournalReading,
): Promise<FileClaim | string> {
  const found = await readIn(file, transaction, reading);
  if (typeof found === 'string') return found;
  const { claim, claimed, lost, claimMark } = found;
  const { epoch } = claim.opening;
  const journal = transaction.objectStore('journal');
  const head = transaction.objectStore('head');
  const writes: Promise<unknown>[] = [journal.add(epoch, claimed), ...holdFile(head, epoch)];
  for (const number of lost) writes.push(journal.put(epoch, number));
  if (epoch % KEPT_CLAIMS === 0) {
    // Below the floor there are only claims.
    const oldEnd = Math.min(numberOr(claimMark, 1), claim.journalFloor);
    writes.push(journal.delete(IDBKeyRange.upperBound(oldEnd, true)), head.put(claimed, 'claimMark'));
  }
  await Promise.all(writes);
  return claim;
}

/** Makes the owner with that epoch the one that holds the file. */
export function holdFile(head: WritableHead, epoch: number): Promise<unknown>[] {
  return [
    head.put(epoch, 'epoch'),
    // All keys that begin with `owner-`.
    head.delete(IDBKeyRange.bound('owner-', 'owner.', false, true)),
    head.put({ holds: 'file' }, `owner-${epoch}`),
  ];
}

async function readIn(
  file: string,
  transaction: ReadingTransaction,
  { epoch: raised, hasSegments = raised !== undefined, read }: JournalReading,
): Promise<ReadFile | string> {
  const journal = transaction.objectStore('journal');
  const head = transaction.objectStore('head');
  const [text, lastEpoch, storedFloor, claimMark, written, token] = await Promise.all(
    HEAD_KEYS.map((key) => head.get(key)),
  );
  const floor = numberOr(storedFloor, 1);
  if (typeof lastEpoch !== 'number') throw storageCorrupt(file, 'its epoch is missing');
  if (!hasSegments && typeof token === 'string') return token;
  const epoch = raised ?? lastEpoch + 1;
  if (lastEpoch > epoch) throw storageFenced(file);
  const fromFloor = IDBKeyRange.lowerBound(floor);
  const [values, numbers] = await Promise.all([journal.getAll(fromFloor), journal.getAllKeys(fromFloor)]);
  const { records, lost, end } = read(numbers, values, floor);
  const claimed = Math.max(floor, end);
  const claims = numbers.filter((_number, index) => typeof values[index] === 'number');
  const claim = {
    opening: { epoch, head: textOr(text), journal: records, nextJournal: claimed + 1 },
    pageCounts: pageCountsOr(written),
    journalFloor: floor,
    claims: [...claims, ...lost, claimed],
  };
  return { claim, claimed, lost, claimMark };
}

const HEAD_KEYS = ['head', 'epoch', 'journalFloor', 'claimMark', 'written', 'segments'] as const;

function readStored(numbers: readonly number[], values: readonly JournalValue[]): ReadJournal {
  const records: JournalRecord[] = [];
  for (const [index, number] of numbers.entries()) {
    const text = values[index];
    if (typeof text === 'string') records.push({ number, text });
  }
  return { records, lost: [], end: (numbers.at(-1) ?? 0) + 1 };
}

function numberOr(value: unknown, absent: number): number {
  return typeof value === 'number' ? value : absent;
}

function textOr(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function pageCountsOr(value: HeadValue | undefined): PageCounts {
  return typeof value === 'object' && 'kept' in value ? value : { pages: 0, bytes: 0, kept: 0 };
}

/** The resulting journal. */
interface ReadJournal {
  readonly records: readonly JournalRecord[];
  /** Numbers that must become claims. */
  readonly lost: readonly number[];
  /** One above the last number. */
  readonly end: number;
}

interface JournalSources {
  /** No record below it is left. */
  readonly floor: number;
  /** Numbers of the journal in IndexedDB, ascending. */
  readonly numbers: readonly number[];
  /** What is stored under these numbers: a record's text, or a claim. */
  readonly values: readonly JournalValue[];
  /** The records that are in segments, in any order. */
  readonly found: readonly JournalRecord[];
}

interface MergedJournal extends ReadJournal {
  /** The records that IndexedDB does not have. */
  readonly unsaved: readonly JournalRecord[];
}

/**
 * Merges the records in IndexedDB and the segments into one journal. It ends where a number is missing, whatever comes later: no record may
 * survive without those before it. Only a power cut leaves such a gap; later numbers become claims, so that no record is ever read under
 * them. If both have a number, IndexedDB takes precedence: what a stale owner wrote into a segment under a number that its successor had claimed
 * was never acknowledged.
 */
export function mergeJournal({ floor, numbers, values, found }: JournalSources): MergedJournal {
  const stored = new Map(numbers.map((number, index) => [number, values[index]]));
  const inFiles = new Map(found.map(({ number, text }) => [number, text]));
  const last = Math.max(floor - 1, ...stored.keys(), ...inFiles.keys());
  const records: JournalRecord[] = [];
  const unsaved: JournalRecord[] = [];
  let number = floor;
  for (; number <= last; number += 1) {
    const value = stored.get(number) ?? inFiles.get(number);
    if (value === undefined) break;
    if (typeof value === 'number') continue;
    const record = { number, text: value };
    records.push(record);
    if (!stored.has(number)) unsaved.push(record);
  }
  const lost: number[] = [];
  for (; number <= last; number += 1) if (typeof stored.get(number) !== 'number') lost.push(number);
  return { records, unsaved, lost, end: last + 1 };
}
