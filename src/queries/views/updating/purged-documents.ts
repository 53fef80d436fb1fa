import type { DocId } from '../../../database/documents/contract.ts';
import type { Snapshot } from '../../../database/store/contract.ts';
import type { DocumentTree } from '../trees/document-tree.ts';

/**
 * Yields documents that have rows in an index but do not exist in the database, in batches. This finds documents that were purged with
 * all their revisions, which the database's changes do not name any more. It takes time in proportion to the documents
 * of the index but maps none, so an index need not be rebuilt after purges.
 */
export async function* purgedDocuments(byDocument: DocumentTree, snapshot: Snapshot): AsyncGenerator<DocId[]> {
  for await (const entries of byDocument.entries()) {
    const ids = entries.map(({ key }) => key as DocId);
    const records = await snapshot.documents(ids);
    const purged = ids.filter((_id, index) => records[index]?.leaves[0]?.deleted !== false);
    if (purged.length > 0) yield purged;
  }
}
