import { isDatabaseError } from '../../base/errors/database-error.ts';
import type { Database } from '../../database/store/contract.ts';
import type { PageStore } from '../../storage/page-store.ts';
import { designDocumentsOf, indexFile, indexFilesOf } from './index-files.ts';
import { verifyIndexFile } from './storing/index-verification.ts';
import { type GroupDefinition, parseDefinition } from './trees/definition.ts';
import { createTreeOrders } from './trees/tree-order.ts';

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
      damage.push(`An index is damaged, and will be built again when it is asked for. ${finding}`);
      continue;
    }
    await store.destroy(file);
    repairs.push(`dropped a damaged index, which is built again when it is asked for. ${finding}`);
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
