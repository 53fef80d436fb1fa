import { DatabaseError } from '../../../base/errors/database-error.ts';
import type { Crc32 } from '../../../base/shared/crc32.ts';
import type { TreeRoot } from '../../../storage/btree/contract.ts';
import { addToHead, checkHead } from '../../../storage/paging/checksums.ts';

/**
 * The head of a database file: the roots of the trees, and the counters that belong to them. Only a checkpoint writes it
 * (and the write queue, when the sequence ceiling has to rise). Text, 500 to 1,500 bytes.
 *
 * Format history (`format`):
 * 1 – the first.
 * 2 – checksums of pages, of bodies, of journal records and of the head; tree nodes that take several pages; attachments.
 */
export const DISK_FORMAT_VERSION = 2;
/** The format without checksums. */
const UNCHECKED_FORMAT = 1;

export interface Head {
  readonly format: number;
  readonly uuid: string;
  readonly updateSeq: number;
  readonly purgeSeq: number;
  /** No sequence number above this was assigned before a later head was durable. */
  readonly seqCeiling: number;
  readonly docCount: number;
  readonly docDelCount: number;
  readonly roots: {
    readonly byId: TreeRoot | null;
    readonly bySeq: TreeRoot | null;
    readonly locals: TreeRoot | null;
    readonly space: TreeRoot | null;
    /** Absent in files of a release that did not support attachments. */
    readonly attachments?: TreeRoot | null;
  };
  /** Pages below this number have no checksum: those of the format without checksums, for which it is infinite. */
  readonly checkedFrom: number;
  /** Journal records below this number are contained in the trees. */
  readonly journalFrom: number;
  /** Pages at or above this number belong to the file only if a journal record names them. */
  readonly pageMark: number;
  /**
   * Pages below the mark that were assigned but not stored when this head was written, as distances from the mark. If
   * they exist without a later head, an interrupted checkpoint left them.
   */
  readonly unstored: readonly number[];
  /** The target bytes of body pages, and the maximum of a page: how stored bodies are found depends on them. */
  readonly bodyPageBytes: number;
  readonly maxPageBytes: number;
  /** Pages with lists of the pages that are free with this head (`FreeList`). */
  readonly garbage: readonly number[];
  /** The file was closed in order; nothing can have been lost since. */
  readonly clean: boolean;
  /** Microseconds since the epoch. */
  readonly instanceStartTime: string;
  /** When changes were made (time-marks.ts). Absent in files of releases that did not note it; those keep it as it is. */
  readonly times?: string;
}

export function encodeHead(head: Head, crc32: Crc32): string {
  const { checkedFrom, ...others } = head;
  return addToHead(crc32, JSON.stringify(checkedFrom === Number.POSITIVE_INFINITY ? others : head));
}

/** Reads a head. Fails with `storage_newer_format` or `storage_corrupt`. */
export function decodeHead(stored: string, file: string, crc32: Crc32): Head {
  const checked = checkHead(crc32, stored);
  if (checked === 'wrong') throw corruptHead(file);
  const head = parseHead(checked === 'none' ? stored : checked.text);
  if (head === undefined) throw corruptHead(file);
  if (head.format > DISK_FORMAT_VERSION) {
    throw new DatabaseError(
      'storage_newer_format',
      `${file} has format ${head.format}; this release reads up to ${DISK_FORMAT_VERSION}. Use a newer release.`,
    );
  }
  if (head.format === UNCHECKED_FORMAT) return { ...head, checkedFrom: Number.POSITIVE_INFINITY };
  if (checked === 'none') throw corruptHead(file);
  return head;
}

function corruptHead(file: string): DatabaseError {
  return new DatabaseError('storage_corrupt', `The head of ${file} is damaged. Restore the file from a backup.`);
}

function parseHead(text: string): Head | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('format' in value) || typeof value.format !== 'number') {
      return undefined;
    }
    return value as Head;
  } catch {
    return undefined;
  }
}
