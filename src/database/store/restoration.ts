import type { Crc32 } from '../../base/shared/crc32.ts';
import type { PageFile } from '../../storage/page-store.ts';
import { decodeHead, encodeHead } from './state/head.ts';

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
  const head = decodeHead(file.opening.head, file.name, crc32);
  await file.commit({ durability: 'strict', head: encodeHead({ ...head, clean: false }, crc32) });
}
