import { crc32 } from 'node:zlib';
import { storageCorrupt, storageNewerFormat } from '../storage-errors.ts';
import type { JournalSpan } from './journal-recovery.ts';

/**
 * The layout that this version writes, and the newest that it reads. Nothing before 2 was released.
 * 1: databases `pages`, `journal` and `state`; in `state` the owner's record, whose LMDB version is the epoch, and the
 *    head. All journal records lie in `journal`.
 * 2: records that are committed alone, and are not long, lie in segment files beside the data file
 *    (journal-segment.ts). The owner's record says which numbers belong to which owner.
 */
export const LMDB_FORMAT = 2;

/** What an environment knows about its owner; its LMDB version is the epoch. */
export interface OwnerRecord {
  readonly format: number;
  /** The number of the owner's first journal record. */
  readonly start: number;
  /** Journal records below this were removed, whatever files still hold them. */
  readonly truncated: number;
  /** The journal as the owner found it; undefined in format 1, in which only LMDB has it. */
  readonly earlier: readonly JournalSpan[] | undefined;
  /** The generation that holds the file now; this one is no longer used. */
  readonly movedTo?: number | undefined;
}

/** Encodes it with a checksum that includes the epoch. */
export function encodeOwner({ format, start, truncated, earlier, movedTo }: OwnerRecord, epoch: number): string {
  const spans = (earlier ?? []).map((span) => [span.epoch, span.from, span.end]);
  const text = JSON.stringify({ format, start, truncated, earlier: spans, movedTo });
  return `${text.slice(0, -1)},"crc":${checksumOf(text, epoch)}}`;
}

const CHECKSUM = /,"crc":([0-9]+)\}$/;

function checksumOf(text: string, epoch: number): number {
  return crc32(`${epoch} ${text}`);
}

/** Decodes it. A record without a checksum was written by a release that had none. */
export function decodeOwner(file: string, text: string, epoch: number): OwnerRecord {
  const checksum = CHECKSUM.exec(text);
  if (checksum !== null && checksumOf(`${text.slice(0, checksum.index)}}`, epoch) !== Number(checksum[1])) {
    throw storageCorrupt(file, 'the checksum of its owner record is wrong');
  }
  const value = parseObject(file, text);
  const format = numberOf(file, value, 'format');
  if (format > LMDB_FORMAT) throw storageNewerFormat(file, format, LMDB_FORMAT);
  const movedTo = 'movedTo' in value ? numberOf(file, value, 'movedTo') : undefined;
  if (format === 1) {
    return { format, start: numberOf(file, value, 'journalFloor'), truncated: 0, earlier: undefined, movedTo };
  }
  const start = numberOf(file, value, 'start');
  const truncated = numberOf(file, value, 'truncated');
  return { format, start, truncated, earlier: spansIn(file, value['earlier']), movedTo };
}

function parseObject(file: string, text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return { ...value };
  } catch (error) {
    throw storageCorrupt(file, 'its owner record is not JSON', error);
  }
  throw storageCorrupt(file, 'its owner record is not an object');
}

function numberOf(file: string, value: Record<string, unknown>, name: string): number {
  const member = value[name];
  if (typeof member !== 'number') throw storageCorrupt(file, `"${name}" of its owner record is not a number`);
  return member;
}

function spansIn(file: string, value: unknown): JournalSpan[] {
  if (!Array.isArray(value)) throw storageCorrupt(file, '"earlier" of its owner record is not an array');
  return value.map((span: unknown) => {
    const [epoch, from, end]: unknown[] = Array.isArray(span) ? span : [];
    if (typeof epoch === 'number' && typeof from === 'number' && typeof end === 'number') return { epoch, from, end };
    throw storageCorrupt(file, '"earlier" of its owner record holds something else than spans of numbers');
  });
}
