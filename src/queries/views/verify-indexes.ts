import { isDatabaseError } from '../../base/errors/database-error.ts';
import { CacheBudget } from '../../base/shared/cache-budget.ts';
import { systemClock } from '../../base/shared/clock.ts';
import { TimeSlice } from '../../base/shared/turn.ts';
import type { Database } from '../../database/store/contract.ts';
import { readableEntries } from '../../storage/btree/reading/tree-walks.ts';
import type { PageFile, PageStore, PageStoreSupport } from '../../storage/page-store.ts';
import { checkHead } from '../../storage/paging/checksums.ts';
import { SnapshotRegister } from '../../storage/paging/snapshot-register.ts';
import { designDocumentsOf, indexFile, indexFilesOf } from './index-files.ts';
import { defaultViewSettings } from './settings.ts';
import { IndexFile } from './storing/index-file.ts';
import { decodeIndexHead, type IndexHead } from './storing/index-head.ts';
import { openIndexState } from './storing/index-trees.ts';
import { type GroupDefinition, parseDefinition } from './trees/definition.ts';
import type { IndexState } from './trees/index-state.ts';
import { createTreeOrders, type TreeOrder } from './trees/tree-order.ts';

interface IndexReport {
  /** One sentence for each index that was removed because of damage. */
  readonly repairs: readonly string[];
  /** One sentence for each damaged index that is still there. */
  readonly damage: readonly string[];
}

/**
 * Reads all indexes of a database, which must not be in use. `repair` removes those that are damaged; else the first query that finds
 * the damage does.
 */
export async function verifyIndexes(
  store: PageStore,
  database: Database,
  { repair }: { readonly repair: boolean },
): Promise<IndexReport> {
  const origin = await database.origin();
  const definitions = new Map<string, GroupDefinition>();
  // If one of them is damaged, the verification of the database reports it.
  for (const design of await designDocumentsOf(database).catch(() => [])) {
    const definition = await parseDefinition(design.body).catch(() => undefined);
    if (definition !== undefined) definitions.set(indexFile(origin, definition), definition);
  }
  const repairs: string[] = [];
  const damage: string[] = [];
  for (const file of await indexFilesOf(store, origin)) {
    const finding = await verifyOne(store, file, definitions.get(file));
    if (finding === undefined) continue;
    if (!repair) {
      damage.push(`An index is damaged. It is built again when a query needs it. ${finding}`);
      continue;
    }
    await store.destroy(file);
    repairs.push(`removed a damaged index, which is built again when a query needs it. ${finding}`);
  }
  return { repairs, damage };
}

async function verifyOne(
  store: PageStore,
  file: string,
  definition: GroupDefinition | undefined,
): Promise<string | undefined> {
  try {
    const page = await store.open(file, 'open');
    const orders = definition && createTreeOrders(definition.trees);
    return await verifyIndexFile(page, store.supports, orders).finally(() => page.close());
  } catch (error) {
    if (!isDatabaseError(error, 'storage_corrupt')) throw error;
    return error.reason;
  }
}

/**
 * Reads everything in the file of an index, and returns the first finding; undefined if it is sound, of a former format, or was
 * never stored. Without `orders`, as for an index whose design document is gone, every existing page is read, but missing ones are not detected.
 */
async function verifyIndexFile(
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
