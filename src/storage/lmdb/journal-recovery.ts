import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { crc32 } from 'node:zlib';
import { decodeRecords, isLastDamaged, recordsBehind } from '../journal-record.ts';
import type { JournalRecord } from '../page-store.ts';
import type { Segment } from './journal-segment.ts';

/** Consecutive numbers that one owner gave to its records: from `from` to below `end`. Between two spans lie claims. */
export interface JournalSpan {
  readonly epoch: number;
  readonly from: number;
  readonly end: number;
}

/** A segment that holds records that are still needed, all of them below `end`. */
export interface KeptSegment {
  readonly path: string;
  readonly first: number;
  readonly end: number;
  readonly bytes: number;
}

export interface RecoveredSegment extends KeptSegment {
  readonly epoch: number;
  /** The length of the sound records at its beginning. */
  readonly soundBytes: number;
}

/** A record that can't be read though the journal shows that it was written. */
export interface JournalDamage {
  readonly number: number;
  /** Where it should be: a segment, and the byte in it. */
  readonly place: string;
  /** Sound records after it. They can't be applied without it. */
  readonly behind: readonly JournalRecord[];
}

export interface RecoveredJournal {
  /** Records below this were removed. */
  readonly truncated: number;
  readonly records: readonly JournalRecord[];
  /** Why the journal ends where it does, unless a crash explains that. */
  readonly damage: JournalDamage | undefined;
  /** Numbers of the records that lie in LMDB's own journal, ascending. */
  readonly inEnvironment: readonly number[];
  /** Where the records lie, without empty spans. */
  readonly spans: readonly JournalSpan[];
  readonly kept: readonly RecoveredSegment[];
  /** Segments that hold nothing that is needed. */
  readonly leftovers: readonly string[];
}

interface Sources {
  /** By epoch and first number. */
  readonly segments: readonly Segment[];
  /** Returns the content of a segment. Default: reads the file. */
  readonly read?: (path: string) => Uint8Array;
  /** Records in LMDB's own journal, ascending. */
  readonly inEnvironment: readonly JournalRecord[];
  /** Ascending; the last one is the former owner's, and has no end yet. */
  readonly spans: readonly JournalSpan[];
  /** Records below this were removed. */
  readonly truncated: number;
}

/**
 * Joins the records in the segments with those in LMDB. The journal ends where a number is missing, whatever comes later:
 * no record may survive without those before it.
 */
export function recoverJournal(sources: Sources): RecoveredJournal {
  const { segments, inEnvironment, spans, truncated, read: readFile = readFileSync } = sources;
  const records: JournalRecord[] = [];
  const found: JournalSpan[] = [];
  const kept: RecoveredSegment[] = [];
  let damage: JournalDamage | undefined;
  for (const span of spans) {
    const from = Math.max(span.from, truncated);
    if (from >= span.end) continue;
    const read = readSegments(segments, { ...span, from }, readFile);
    const run = runFrom(from, span.end, textsByNumber([inEnvironment, read.records]));
    for (const record of run) records.push(record);
    const end = from + run.length;
    if (run.length > 0) found.push({ epoch: span.epoch, from, end });
    for (const segment of read.segments) {
      if (run.length > 0 && segment.first < end) kept.push({ ...segment, end: Math.min(segment.end, end) });
    }
    if (end < span.end) {
      damage = damageAt(end, read);
      break;
    }
  }
  const last = records.at(-1)?.number ?? 0;
  const keptPaths = new Set(kept.map(({ path }) => path));
  const leftovers = segments.map(({ path }) => path).filter((path) => !keptPaths.has(path));
  return {
    truncated,
    records,
    damage,
    inEnvironment: inEnvironment.map(({ number }) => number).filter((number) => number >= truncated && number <= last),
    spans: found,
    kept,
    leftovers,
  };
}

/** Returns the spans of records that were all written before segments kept them apart. */
export function spansOf(records: readonly JournalRecord[]): JournalSpan[] {
  const spans: JournalSpan[] = [];
  for (const { number } of records) {
    const last = spans.at(-1);
    if (last?.end === number) spans[spans.length - 1] = { ...last, end: number + 1 };
    else spans.push({ epoch: 0, from: number, end: number + 1 });
  }
  return spans;
}

interface ReadSegments {
  /** Records up to the first unsound one in each segment. */
  readonly records: readonly JournalRecord[];
  readonly segments: readonly RecoveredSegment[];
  /** Where segments hold something that is neither a sound record nor cut short by a crash. */
  readonly damaged: readonly { readonly place: string; readonly behind: readonly JournalRecord[] }[];
}

/** Returns damage if the journal ends at `number`, which was not removed, and more is there than a crash leaves. */
function damageAt(number: number, { records, damaged }: ReadSegments): JournalDamage | undefined {
  const isBehind = (record: JournalRecord) => record.number > number;
  const [first] = damaged;
  if (first !== undefined) {
    return { number, place: first.place, behind: [...first.behind, ...records].filter(isBehind) };
  }
  // A segment gets no record until those that LMDB took earlier are durable.
  const behind = records.filter(isBehind);
  return behind.length === 0 ? undefined : { number, place: 'the data file, which lacks it', behind };
}

function readSegments(
  segments: readonly Segment[],
  span: JournalSpan,
  readFile: (path: string) => Uint8Array,
): ReadSegments {
  const ofEpoch = segments.filter(({ epoch, first }) => epoch === span.epoch && first < span.end);
  const records: JournalRecord[] = [];
  const kept: RecoveredSegment[] = [];
  const damaged: ReadSegments['damaged'][number][] = [];
  for (const [index, { path, first }] of ofEpoch.entries()) {
    const end = ofEpoch[index + 1]?.first ?? span.end;
    if (end <= span.from) continue;
    const bytes = readFile(path);
    const decoded = decodeRecords(bytes, crc32);
    for (const record of decoded.records) if (record.number < span.end) records.push(record);
    const behind = recordsBehind(bytes, decoded.end, crc32);
    if (behind.length > 0 || isLastDamaged(bytes, decoded.end, crc32)) {
      damaged.push({ place: `byte ${decoded.end} of ${basename(path)}`, behind });
    }
    kept.push({ path, epoch: span.epoch, first, end, bytes: bytes.length, soundBytes: decoded.end });
  }
  return { records, segments: kept, damaged };
}

function textsByNumber(sources: readonly (readonly JournalRecord[])[]): Map<number, string> {
  const texts = new Map<number, string>();
  for (const records of sources) for (const { number, text } of records) texts.set(number, text);
  return texts;
}

function runFrom(from: number, end: number, texts: ReadonlyMap<number, string>): JournalRecord[] {
  const run: JournalRecord[] = [];
  for (let number = from; number < end; number += 1) {
    const text = texts.get(number);
    if (text === undefined) break;
    run.push({ number, text });
  }
  return run;
}
