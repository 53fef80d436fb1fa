import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { decodeRecords } from '../../journal-record.ts';
import type { FollowedPoint, JournalRecord } from '../../page-store.ts';
import type { Environment, OwnerMark } from '../environment.ts';
import { hasCode } from '../folder.ts';
import type { RecoveredJournal } from '../journal-recovery.ts';
import { segmentPath } from '../journal-segment.ts';
import type { OwnerRecord } from '../owner-record.ts';

/** Most of what is appended between two polls fits into this. */
const FIRST_READ_BYTES = 4096;

interface OpenSegment {
  readonly descriptor: number;
  /** The length of the records that were read. */
  offset: number;
}

interface TailOptions {
  readonly folder: string;
  readonly mark: OwnerMark;
  readonly owner: OwnerRecord;
  readonly journal: RecoveredJournal;
  /** The number of the last record that the follower has; 0 if it has none. */
  readonly last: number;
}

/**
 * The end of a journal up to which a follower has read. From here the follower reads only what comes next, as long as the owner's record and the
 * head stay the same: then the owner appends to one segment, and begins one with its next record if it has none.
 */
export class JournalTail {
  readonly mark: OwnerMark;
  readonly #folder: string;
  /** The number of the owner's next record. */
  #next: number;
  #last: number;
  #segment: OpenSegment | undefined;
  /** Bytes after the last record when the whole journal was read: a record that was cut off. */
  #cutOff = 0;
  #buffer: Uint8Array | undefined;

  constructor({ folder, mark, owner, journal, last }: TailOptions) {
    this.mark = mark;
    this.#folder = folder;
    this.#last = last;
    this.#next = Math.max(owner.start, owner.truncated, last + 1);
    const segment = journal.kept.at(-1);
    // A truncation ends the segment that has begun below it.
    if (segment?.epoch !== mark.epoch || segment.first < owner.truncated) return;
    this.#cutOff = segment.bytes - segment.soundBytes;
    this.#segment = openIfThere(segment.path, segment.soundBytes);
  }

  get point(): FollowedPoint {
    return { epoch: this.mark.epoch, head: this.mark.head, record: this.#last };
  }

  /** Whether there is nothing between the point and the end that was read. */
  isAt({ epoch, head, record }: FollowedPoint): boolean {
    return record === this.#last && epoch === this.mark.epoch && head === this.mark.head;
  }

  isCurrent({ epoch, owner, head }: OwnerMark): boolean {
    return epoch === this.mark.epoch && owner === this.mark.owner && head === this.mark.head;
  }

  /**
   * Reads what comes next. `transaction` begins a read transaction and returns it, or undefined if the owner's record or head has changed; it is
   * called after the segment was read, so that LMDB has each record that comes before one of the segment, and the pages of them all.
   * Returns undefined if the whole journal must be read instead.
   */
  readNext(transaction: () => Environment | undefined): JournalRecord[] | undefined {
    const records: JournalRecord[] = [];
    for (;;) {
      const appended = this.#readSegment();
      const environment = appended && transaction();
      if (appended === undefined || environment === undefined) return undefined;
      const before = this.#next;
      if (!this.#join(appended, environment, records)) return undefined;
      // The segment that comes next may have begun after a record in LMDB.
      if (this.#next === before || this.#segment !== undefined) return records;
    }
  }

  close(): void {
    if (this.#segment !== undefined) closeSync(this.#segment.descriptor);
    this.#segment = undefined;
  }

  /** Adds what is appended and what LMDB has in the order of the numbers. Returns false if a number is missing. */
  #join(appended: readonly JournalRecord[], { journal }: Environment, records: JournalRecord[]): boolean {
    for (let at = 0; ; ) {
      const next = appended[at];
      const isNext = next?.number === this.#next;
      const text = isNext ? next.text : journal.get(this.#next);
      if (text === undefined) return next === undefined;
      records.push(isNext ? next : { number: this.#next, text });
      if (isNext) at += 1;
      this.#last = this.#next;
      this.#next += 1;
    }
  }

  /** Returns the records that were appended to the segment; undefined if there is something else in it. */
  #readSegment(): JournalRecord[] | undefined {
    this.#segment ??= openIfThere(segmentPath(this.#folder, this.mark.epoch, this.#next), 0);
    if (this.#segment === undefined) return [];
    const bytes = this.#readBytes(this.#segment);
    if (bytes.length === 0) return [];
    const { records, end } = decodeRecords(bytes, crc32);
    if (end === 0 && bytes.length === this.#cutOff) return [];
    if (end < bytes.length) return undefined;
    this.#segment.offset += end;
    this.#cutOff = 0;
    return records;
  }

  /** Returns all bytes from the offset on, valid until the next call. */
  #readBytes({ descriptor, offset }: OpenSegment): Uint8Array {
    this.#buffer ??= new Uint8Array(FIRST_READ_BYTES);
    const length = readSync(descriptor, this.#buffer, 0, FIRST_READ_BYTES, offset);
    if (length < FIRST_READ_BYTES) return this.#buffer.subarray(0, length);
    const all = new Uint8Array(Math.max(FIRST_READ_BYTES, fstatSync(descriptor).size - offset));
    return all.subarray(0, readSync(descriptor, all, 0, all.length, offset));
  }
}

function openIfThere(path: string, offset: number): OpenSegment | undefined {
  if (!existsSync(path)) return undefined;
  try {
    return { descriptor: openSync(path, 'r'), offset };
  } catch (error) {
    // Removed since; the owner's record says so.
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}
