import { isDatabaseError } from '../../../base/errors/database-error.ts';
import { CacheBudget } from '../../../base/shared/cache-budget.ts';
import { systemClock } from '../../../base/shared/clock.ts';
import { TimeSlice } from '../../../base/shared/turn.ts';
import { readableEntries } from '../../../storage/btree/reading/tree-walks.ts';
import type { PageFile, PageStoreSupport } from '../../../storage/page-store.ts';
import { checkHead } from '../../../storage/paging/checksums.ts';
import { SnapshotRegister } from '../../../storage/paging/snapshot-register.ts';
import { defaultViewSettings } from '../settings.ts';
import type { IndexState } from '../trees/index-state.ts';
import type { TreeOrder } from '../trees/tree-order.ts';
import { IndexFile } from './index-file.ts';
import { decodeIndexHead, type IndexHead } from './index-head.ts';
import { openIndexState } from './index-trees.ts';

/**
 * Reads everything in the file of an index, and returns the first finding; undefined if it is sound, of a former format, or was
 * never stored. Without `orders`, as for an index whose design document is gone, every existing page is read, but missing ones are not detected.
 */
export async function verifyIndexFile(
  page: PageFile,
  supports: PageStoreSupport,
  orders: readonly TreeOrder[] | undefined,
): Promise<string | undefined> {
  const { head: stored } = page.opening;
  const head = stored === undefined ? undefined : decodeIndexHead(stored, supports.crc32);
  if (stored !== undefined && head === undefined) {
    return checkHead(supports.crc32, stored) === 'wrong' ? `The head of ${page.name} is damaged.` : undefined;
  }
  if (head === undefined) return undefined;
  const settings = defaultViewSettings;
  const snapshots = new SnapshotRegister(systemClock, settings.snapshotMaxAgeMs, () => undefined);
  const file = new IndexFile(page, head, { snapshots, settings, cache: new CacheBudget(0), supports });
  try {
    await readPages(file);
    if (orders !== undefined) await readTrees(file, head, orders, supports);
    return undefined;
  } catch (error) {
    if (!isDatabaseError(error, 'storage_corrupt')) throw error;
    return error.reason;
  }
}

/** Reads every page that exists, as text: an index has no others. */
async function readPages(file: IndexFile): Promise<void> {
  const timeSlice = new TimeSlice();
  for await (const numbers of file.file.pageNumbers(0)) {
    for (const number of numbers) {
      await file.file.read(number, 'text');
      if (timeSlice.isDue) await timeSlice.rest();
    }
  }
}

/** Reads every page that should exist. */
async function readTrees(
  file: IndexFile,
  head: IndexHead,
  orders: readonly TreeOrder[],
  { leafBytes }: PageStoreSupport,
): Promise<void> {
  const state = openIndexState({ file, orders, leafBytes }, head, await file.readRoots(head));
  for (const entries of entriesOf(state)) {
    const timeSlice = new TimeSlice();
    for await (const _batch of entries) if (timeSlice.isDue) await timeSlice.rest();
  }
}

function* entriesOf({ byDocument, trees }: IndexState): Generator<AsyncIterable<unknown>> {
  const fail = (error: unknown): never => {
    throw error;
  };
  yield readableEntries(byDocument, fail);
  for (const { rows } of trees) yield readableEntries(rows, fail);
}
