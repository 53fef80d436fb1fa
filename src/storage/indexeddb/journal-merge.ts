import type { JournalRecord } from '../page-store.ts';
import type { JournalValue } from './schema.ts';

/** The resulting journal. */
export interface ReadJournal {
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
