import type { Crc32 } from '../../../base/shared/crc32.ts';
import type { Commit, PageFile } from '../../../storage/page-store.ts';
import { decodeHead, encodeHead, type Head } from './head.ts';

/** The least number of sequence numbers that one durable head makes room for … */
export const CEILING_STEP = 10_000;
/** … and the number of commits of the same size that it makes room for: large ones should not wait for the medium repeatedly. */
const CEILING_COMMITS = 50;

interface StoredHeadOptions {
  readonly crc32: Crc32;
  /** Whether the head in the file is of this release's format. */
  readonly isUpgraded: boolean;
}

/** The head of an open file. After the file's first head, this class writes all others. */
export class StoredHead {
  readonly #file: PageFile;
  readonly #crc32: Crc32;
  #current: Head;
  /** Whether the head in the file is of this release's format. */
  #isUpgraded: boolean;

  /** `current`: the file's head, in this release's format. */
  constructor(file: PageFile, current: Head, { crc32, isUpgraded }: StoredHeadOptions) {
    this.#file = file;
    this.#crc32 = crc32;
    this.#current = current;
    this.#isUpgraded = isUpgraded;
  }

  /** The last head that was written. */
  get current(): Head {
    return this.#current;
  }

  /** Writes a head in one commit with what belongs to it. */
  async write(head: Head, commit: Omit<Commit, 'head'>): Promise<void> {
    await this.#file.commit({ ...commit, head: encodeHead(head, this.#crc32) });
    this.#current = head;
    this.#isUpgraded = true;
  }

  /**
   * Whether a commit up to this sequence number must write a head, and be durable; also the first one of this release, whose
   * journal must not be read by releases that don't know the format.
   */
  mustRaiseCeiling(updateSeq: number): boolean {
    return updateSeq > this.#current.seqCeiling || this.#current.clean || !this.#isUpgraded;
  }

  /**
   * Returns the head that makes room for sequence numbers up to `updateSeq` and some more, so that after a loss (a power cut with relaxed
   * durability) numbering can continue above everything that anyone may have seen. `needed`: how many the commit takes.
   */
  withRaisedCeiling(updateSeq: number, needed: number): Head {
    const seqCeiling = updateSeq + Math.max(CEILING_STEP, CEILING_COMMITS * needed);
    return { ...this.#current, seqCeiling, clean: false };
  }
}

/** Whether the file holds a database that was begun, and to which nothing was ever written. */
export async function holdsNothing(file: PageFile, crc32: Crc32): Promise<boolean> {
  const { name, opening } = file;
  const { head: stored, journal } = opening;
  if (journal.length > 0) return false;
  if (stored === undefined) {
    for await (const numbers of file.pageNumbers(0)) if (numbers.length > 0) return false;
    return true;
  }
  const { updateSeq, roots } = decodeHead(stored, name, crc32);
  return updateSeq === 0 && roots.locals === null;
}

/**
 * Marks a file that was copied from a backup, so that its next opening treats it as one that lost its last moments: it
 * continues numbering above what its original may have assigned, and extends its lineage. Indexes and peers that have
 * seen the original then notice that it went back in time.
 */
export async function markRestored(file: PageFile, crc32: Crc32): Promise<void> {
  if (file.opening.head === undefined) return;
  await file.commit({ durability: 'strict', head: restoredHead(file.opening.head, file.name, crc32) });
}

/** Returns the head of a file with the mark of `markRestored`. */
export function restoredHead(stored: string, file: string, crc32: Crc32): string {
  return encodeHead({ ...decodeHead(stored, file, crc32), clean: false }, crc32);
}
