import { atOnce } from '../../../src/base/shared/turn.ts';
import { splitAttachments } from '../../../src/database/documents/stored-attachments.ts';
import type { Database } from '../../../src/database/store/contract.ts';
import { openDataFolder } from '../../../src/node/data-folder/data-folder.ts';
import { createLmdbPageStore } from '../../../src/storage/lmdb/lmdb-page-store.ts';
import { inFolder } from './check.ts';

export interface FolderAccount {
  /** What verifications found, before and after a compaction; empty if all is well. */
  readonly damage: readonly string[];
  /** Pages that an interrupted process had left, and that the opening dropped. */
  readonly reclaimed: number;
  /** Bytes of stored attachments to which documents refer, each digest once. */
  readonly referred: number;
  /** Bytes in all pages of the file. */
  readonly held: number;
  /** Bytes that the file takes on the disk. */
  readonly size: number;
}

/** Verifies and compacts a database whose server is gone, and adds up what documents refer to, and what its file holds. */
export async function accountFor(dataFolder: string, database: string): Promise<FolderAccount> {
  const found = await inFolder(dataFolder, (registry, errors, infos) =>
    registry.use(database, async (open) => {
      const before = await open.verify();
      await open.compact();
      const after = await open.verify();
      const damage = [...errors, ...before.damage, ...after.damage];
      const { file } = await open.origin();
      return { file, damage, reclaimed: reclaimedPages(infos), referred: await referredBytes(open) };
    }),
  );
  return { ...found, ...(await bytesInFile(dataFolder, found.file)) };
}

function reclaimedPages(infos: readonly string[]): number {
  const counts = infos.map((line) => /dropping (\d+) pages/.exec(line)?.[1]);
  return counts.reduce((sum, count) => sum + Number(count ?? 0), 0);
}

async function referredBytes(open: Database): Promise<number> {
  const snapshot = open.snapshot();
  const lengths = new Map<string, number>();
  for await (const rows of snapshot.changes({ since: 0 })) {
    for (const { id } of rows) {
      for (const leaf of (await snapshot.document(id))?.leaves ?? []) {
        for (const attachment of atOnce(splitAttachments((await snapshot.body(leaf)) ?? '{}')).attachments) {
          lengths.set(attachment.digest, (await snapshot.attachment(attachment))?.storedLength ?? Number.NaN);
        }
      }
    }
  }
  snapshot.release();
  return [...lengths.values()].reduce((sum, length) => sum + length, 0);
}

/** As the storage has it, including unreferenced bytes. */
async function bytesInFile(
  dataFolder: string,
  name: string,
): Promise<{ readonly held: number; readonly size: number }> {
  const opened = await openDataFolder(dataFolder);
  const store = createLmdbPageStore(opened.databases);
  try {
    const file = await store.open(name, 'open');
    let held = 0;
    for await (const numbers of file.pageNumbers(0)) {
      for (const number of numbers) held += (await file.read(number, 'bytes'))?.length ?? 0;
    }
    return { held, size: await file.size() };
  } finally {
    await store.close();
    await opened.release();
  }
}
