import type { JournalRecord } from '../page-store.ts';
import type { ReadJournal } from './ownership.ts';
import type { JournalValue } from './schema.ts';

export interface JournalSources {
  /** No record below it is left. */
  readonly floor: number;
  /** Of what IndexedDB has, ascending … */
  readonly numbers: readonly number[];
  /** … and what that is: a record's text, or a claim. */
  readonly values: readonly JournalValue[];
  /** What the segments have, in any order. */
  readonly found: readonly JournalRecord[];
}

export interface MergedJournal extends ReadJournal {
  /** Those of the records that IndexedDB does not have. */
  readonly unsaved: readonly JournalRecord[];
}

/**
 * The journal ends where a number is missing, whatever lies behind: no record may survive without those before it. That happens after a
 * power cut alone, and what lies behind becomes claims, so that its numbers stay without a record. A number that IndexedDB has counts as what it is there: what a stale owner wrote under one that its successor
 * claimed was never acknowledged.
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
