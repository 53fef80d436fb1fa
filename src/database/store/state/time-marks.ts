/**
 * When changes were made, as the head keeps it: a table of at most `MAX_MARKS` times with the update sequence of each (docs/http/changes.md#times).
 * Only checkpoints add to it, with the head that they write anyway. A mark says that all changes up to its sequence number were made by its
 * time, never how much earlier: so a change may count as younger than it is, and never as older.
 */
import type { TimeMark } from '../contract.ts';

/** The maximum number of marks. The older they are, the farther they lie apart. */
export const MAX_MARKS = 100;
/** Seconds between two marks, except for the last one, which moves with each checkpoint. */
const MIN_SPACING = 60;
/** Seconds since the epoch. A clock that shows an earlier time (before 2023) was never set: devices begin with 1970 or 2000. */
const MIN_TIME = 1_672_531_200;

/**
 * Returns the table with a mark of this moment. A time before the last mark's means that the clock was set back, and adds nothing: the new
 * changes wait for the next mark after it.
 */
export function withMark(marks: readonly TimeMark[], mark: TimeMark): readonly TimeMark[] {
  const last = marks.at(-1);
  if (mark.seconds < Math.max(MIN_TIME, last?.seconds ?? 0) || mark.seq <= (last?.seq ?? 0)) return marks;
  const previous = marks.at(-2);
  const isClose = last !== undefined && (last.seconds === mark.seconds || isNear(previous, last));
  const next = [...(isClose ? marks.slice(0, -1) : marks), mark];
  if (next.length > MAX_MARKS) next.splice(leastUseful(next), 1);
  return next;
}

function isNear(previous: TimeMark | undefined, last: TimeMark): boolean {
  return previous !== undefined && last.seconds - previous.seconds < MIN_SPACING;
}

/** Returns the position of the mark whose loss makes the smallest gap in proportion to its age: so gaps grow with the age. */
function leastUseful(marks: readonly TimeMark[]): number {
  const now = marks.at(-1)?.seconds ?? 0;
  let [found, least] = [1, Number.POSITIVE_INFINITY];
  for (let index = 1; index < marks.length - 1; index++) {
    const [before, after] = [marks[index - 1]?.seconds ?? 0, marks[index + 1]?.seconds ?? 0];
    const gap = (after - before) / (now - before + MIN_SPACING);
    if (gap < least) [found, least] = [index, gap];
  }
  return found;
}

/** Returns the highest sequence number of which it is known that it was assigned by that time; 0 if there is none. */
export function seqAt(marks: readonly TimeMark[], seconds: number): number {
  return marks.findLast((mark) => mark.seconds <= seconds)?.seq ?? 0;
}

/** Returns what the head keeps: differences from the mark before, in base 36, `seconds.seq`, with commas between them. */
export function encodeMarks(marks: readonly TimeMark[]): string {
  let before: TimeMark = { seconds: 0, seq: 0 };
  const texts: string[] = [];
  for (const mark of marks) {
    texts.push(`${(mark.seconds - before.seconds).toString(36)}.${(mark.seq - before.seq).toString(36)}`);
    before = mark;
  }
  return texts.join(',');
}

/** Returns no marks for a head without times, and for a text that can't be read: then all changes count as young. */
export function decodeMarks(text: string | undefined): readonly TimeMark[] {
  if (text === undefined || text === '') return [];
  const marks: TimeMark[] = [];
  let [seconds, seq] = [0, 0];
  for (const one of text.split(',')) {
    const [more, further] = one.split('.', 2).map((digits) => Number.parseInt(digits, 36));
    if (more === undefined || further === undefined || !(more >= 0) || !(further > 0)) return [];
    seconds += more;
    seq += further;
    marks.push({ seconds, seq });
  }
  return marks;
}
