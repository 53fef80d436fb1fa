import type { IDBPTransaction } from 'idb';
import type { JournalRecord, Opening } from '../page-store.ts';
import { storageCorrupt } from '../storage-errors.ts';
import type { FileDatabase, FileSchema, HeadValue, Written } from './schema.ts';

/**
 * A claim stays in the journal when it is truncated, since it is what a stale owner runs into. So that claims don't
 * pile up for ever, those of owners that at least this many others followed are removed.
 */
const KEPT_CLAIMS = 1024;

export interface Ownership {
  readonly opening: Opening;
  readonly written: Written;
  readonly journalFloor: number;
  /** Numbers of the claims at or above the floor, ascending. */
  readonly claims: readonly number[];
}

type OpeningTransaction = IDBPTransaction<FileSchema, ['journal', 'head'], 'readwrite'>;

/** Raises the epoch, reads the journal, and adds the claim: the number that a stale owner would write next. */
export async function takeOwnership(file: string, database: FileDatabase): Promise<Ownership> {
  const transaction = database.transaction(['journal', 'head'], 'readwrite', { durability: 'relaxed' });
  // Watched from the start: where a request fails, so does this, and it must not go unhandled.
  const done = transaction.done.catch((error: unknown) => error);
  const ownership = await claim(file, transaction).catch(async (error: unknown) => {
    // Of requests that went down with the transaction, only it knows why.
    throw (await done) ?? error;
  });
  const failure = await done;
  if (failure !== undefined) throw failure;
  return ownership;
}

async function claim(file: string, transaction: OpeningTransaction): Promise<Ownership> {
  const journal = transaction.objectStore('journal');
  const head = transaction.objectStore('head');
  const [text, lastEpoch, storedFloor, claimMark, written] = await Promise.all([
    head.get('head'),
    head.get('epoch'),
    head.get('journalFloor'),
    head.get('claimMark'),
    head.get('written'),
  ]);
  const journalFloor = numberOr(storedFloor, 1);
  if (typeof lastEpoch !== 'number') throw storageCorrupt(file, 'its epoch is missing');
  const fromFloor = IDBKeyRange.lowerBound(journalFloor);
  const [values, numbers] = await Promise.all([journal.getAll(fromFloor), journal.getAllKeys(fromFloor)]);
  const records: JournalRecord[] = [];
  const claims: number[] = [];
  for (const [index, number] of numbers.entries()) {
    const value = values[index];
    if (typeof value === 'string') records.push({ number, text: value });
    else claims.push(number);
  }
  const epoch = lastEpoch + 1;
  const claimed = Math.max(journalFloor, (numbers.at(-1) ?? 0) + 1);
  const writes: Promise<unknown>[] = [
    journal.add(epoch, claimed),
    head.put(epoch, 'epoch'),
    // All keys that begin with `owner-`.
    head.delete(IDBKeyRange.bound('owner-', 'owner.', false, true)),
    head.put({ holds: 'file' }, `owner-${epoch}`),
  ];
  if (epoch % KEPT_CLAIMS === 0) {
    // Below the floor there are only claims.
    const end = Math.min(numberOr(claimMark, 1), journalFloor);
    writes.push(journal.delete(IDBKeyRange.upperBound(end, true)), head.put(claimed, 'claimMark'));
  }
  await Promise.all(writes);
  return {
    opening: { epoch, head: textOr(text), journal: records, nextJournal: claimed + 1 },
    written: writtenOr(written),
    journalFloor,
    claims: [...claims, claimed],
  };
}

function numberOr(value: unknown, absent: number): number {
  return typeof value === 'number' ? value : absent;
}

function textOr(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function writtenOr(value: HeadValue | undefined): Written {
  return typeof value === 'object' && 'kept' in value ? value : { pages: 0, bytes: 0, kept: 0 };
}
