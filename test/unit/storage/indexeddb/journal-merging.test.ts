import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mergeJournal } from '../../../../src/storage/indexeddb/file-claim.ts';
import type { JournalRecord } from '../../../../src/storage/page-store.ts';

describe('merging the journal', () => {
  const record = (number: number): JournalRecord => ({ number, text: `t${number}` });

  test('takes each number from where it is, and ignores claims', () => {
    const sources = { floor: 3, numbers: [3, 4, 7], values: ['t3', 9, 't7'], found: [record(6), record(5), record(1)] };
    expect(mergeJournal(sources)).toEqual({
      records: [3, 5, 6, 7].map(record),
      unsaved: [5, 6].map(record),
      lost: [],
      end: 8,
    });
  });

  test('ends at a missing number, and later records become claims', () => {
    const sources = { floor: 1, numbers: [1, 4, 5], values: ['t1', 't4', 9], found: [record(2), record(6)] };
    expect(mergeJournal(sources)).toEqual({
      records: [1, 2].map(record),
      unsaved: [record(2)],
      lost: [3, 4, 6],
      end: 7,
    });
  });

  test('without records begins at the floor', () => {
    const nothing = { records: [], unsaved: [], lost: [] };
    expect(mergeJournal({ floor: 1, numbers: [], values: [], found: [] })).toEqual({ ...nothing, end: 1 });
    expect(mergeJournal({ floor: 8, numbers: [], values: [], found: [record(3)] })).toEqual({ ...nothing, end: 8 });
  });

  /** Owners one after another, each with a claim and then records here or there; then a power cut takes the ends of both. */
  test('after any power cut finds a prefix of what was written, repeatedly', () => {
    const owners = fc.array(fc.array(fc.boolean(), { maxLength: 6 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(owners, fc.nat(30), fc.nat(30), (terms, keptInDatabase, keptInFiles) => {
        const stored: [number, string | number][] = [];
        const found: JournalRecord[] = [];
        const written: string[] = [];
        let number = 1;
        for (const [index, term] of terms.entries()) {
          stored.push([number++, index + 1]);
          for (const isInFile of term) {
            if (isInFile) found.push(record(number));
            else stored.push([number, `t${number}`]);
            written.push(`t${number++}`);
          }
        }
        const merge = (entries: readonly [number, string | number][]) =>
          mergeJournal({
            floor: 1,
            numbers: entries.map(([at]) => at),
            values: entries.map(([, value]) => value),
            found: found.slice(0, keptInFiles),
          });
        const surviving = stored.slice(0, keptInDatabase);
        const first = merge(surviving);
        const texts = first.records.map(({ text }) => text);
        expect(texts).toEqual(written.slice(0, texts.length));
        const nothingLost = keptInDatabase >= stored.length && keptInFiles >= found.length;
        if (nothingLost) expect(texts).toEqual(written);
        const next = new Map(surviving);
        for (const lost of first.lost) next.set(lost, 7);
        next.set(first.end, 7).set(first.end + 1, 'new');
        const second = merge([...next].sort(([left], [right]) => left - right));
        expect(second.records.map(({ text }) => text)).toEqual([...texts, 'new']);
      }),
      { numRuns: 500 },
    );
  });
});
