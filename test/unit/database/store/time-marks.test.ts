import { describe, expect, test } from 'vitest';
import type { TimeMark } from '../../../../src/database/store/contract.ts';
import {
  decodeMarks,
  encodeMarks,
  MAX_MARKS,
  seqAt,
  withMark,
} from '../../../../src/database/store/state/time-marks.ts';
import { MemoryMedium } from '../../../../src/storage/memory-page-store.ts';
import { Bench, put } from './harness.ts';

/** Seconds since the epoch: in November 2026. */
const START = 1_796_000_000;

function marksOf(...pairs: readonly (readonly [seconds: number, seq: number])[]): readonly TimeMark[] {
  return pairs.map(([seconds, seq]) => ({ seconds: START + seconds, seq }));
}

function noted(...pairs: readonly (readonly [seconds: number, seq: number])[]): readonly TimeMark[] {
  return marksOf(...pairs).reduce<readonly TimeMark[]>(withMark, []);
}

describe('the table of times (docs/http/changes.md#times)', () => {
  test('a mark is added for each moment at which there are more changes', () => {
    expect(noted([0, 3], [100, 3], [200, 5])).toEqual(marksOf([0, 3], [200, 5]));
  });

  test('the last mark moves while it is less than a minute from the one before', () => {
    expect(noted([0, 1], [10, 2], [20, 3], [59, 4], [61, 5], [62, 6])).toEqual(marksOf([0, 1], [61, 5], [62, 6]));
  });

  test('two moments of one second are one mark', () => {
    expect(noted([0, 1], [0, 2])).toEqual(marksOf([0, 2]));
  });

  test('a clock that was set back adds nothing until it has passed the last mark', () => {
    expect(noted([1_000, 1], [10, 5], [999, 7], [2_000, 9])).toEqual(marksOf([1_000, 1], [2_000, 9]));
  });

  test('the time of a clock that was never set is not noted', () => {
    expect(withMark([], { seconds: 12, seq: 4 })).toEqual([]);
  });

  test('says of changes only by when they were made', () => {
    const marks = marksOf([0, 3], [100, 8]);
    expect([-1, 0, 99, 100, 5_000].map((seconds) => seqAt(marks, START + seconds))).toEqual([0, 3, 3, 8, 8]);
    expect(seqAt([], START)).toBe(0);
  });

  test('stays bounded over years, and the gaps are at most a third of their age', () => {
    let marks: readonly TimeMark[] = [];
    const minutes = 3 * 365 * 24 * 60;
    for (let minute = 0; minute <= minutes; minute += 7) {
      marks = withMark(marks, { seconds: START + minute * 60, seq: minute + 1 });
    }
    expect(marks.length).toBe(MAX_MARKS);
    expect(marks[0]).toEqual({ seconds: START, seq: 1 });
    const now = marks.at(-1)?.seconds ?? 0;
    const wide = marks.filter((mark, index) => {
      const before = marks[index - 1]?.seconds ?? mark.seconds;
      return mark.seconds - before > 420 && mark.seconds - before > (now - before) / 3;
    });
    expect(wide).toEqual([]);
    expect(encodeMarks(marks).length).toBeLessThan(1_200);
  });

  test('is written as text and read again', () => {
    const marks = marksOf([0, 3], [77, 8], [100_000, 1_000_000]);
    expect(encodeMarks(marksOf([0, 3], [77, 8]))).toBe(`${START.toString(36)}.3,25.5`);
    expect(decodeMarks(encodeMarks(marks))).toEqual(marks);
    expect([undefined, '', 'x', '5', '5.', '5.0', '1.1,-3.2'].map(decodeMarks)).toEqual(Array(7).fill([]));
  });
});

describe('times of a database', () => {
  function benchAt(seconds: number, medium = new MemoryMedium()): Bench {
    const bench = new Bench({ medium });
    bench.clock.time = seconds * 1_000;
    return bench;
  }

  test('are noted by its checkpoints, and kept in its file', async () => {
    const bench = benchAt(START);
    const db = await bench.open();
    await put(db, 'a');
    expect(db.timeMarks).toEqual([]);
    bench.clock.time += 1;
    await db.close();
    const again = await benchAt(START + 9, bench.medium).open();
    expect(again.timeMarks).toEqual(marksOf([1, 1]));
    expect([again.seqAt(START), again.seqAt(START + 1)]).toEqual([0, 1]);
    await again.close();
  });

  test('can be forgotten: all changes then count as made at that moment', async () => {
    const bench = benchAt(START);
    const db = await bench.open();
    await put(db, 'a');
    await db.resetTimes();
    bench.clock.time += 500_000;
    await put(db, 'b');
    await db.resetTimes();
    expect(db.timeMarks).toEqual(marksOf([500, 2]));
    await db.close();
  });

  test('of a file without any begin with the next checkpoint, for all that is there', async () => {
    const bench = benchAt(0);
    const db = await bench.open();
    await put(db, 'a');
    await put(db, 'b');
    await db.close();
    const later = benchAt(START, bench.medium);
    const again = await later.open();
    expect(again.timeMarks).toEqual([]);
    await put(again, 'c');
    await again.close();
    const last = await benchAt(START, bench.medium).open();
    expect(last.timeMarks).toEqual(marksOf([0, 3]));
    await last.close();
  });
});
