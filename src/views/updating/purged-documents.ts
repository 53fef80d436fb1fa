import type { Snapshot } from '../../database/contract.ts';
import type { DocId } from '../../documents/contract.ts';
import type { DocumentTree } from '../indexes/view-tree.ts';

/**
 * Documents that have rows in an index but are not live in the database, in batches. After a purge that is how those are
 * found that vanished with all their revisions: no list of changes names them. Takes time in proportion to the
 * documents, but maps none; so an index can be told of any number of purges at once and need not be built anew.
 */
export async function* purgedDocuments(byDocument: DocumentTree, snapshot: Snapshot): AsyncGenerator<DocId[]> {
  for await (const entries of byDocument.entries()) {
    const ids = entries.map(({ key }) => key as DocId);
    const records = await snapshot.documents(ids);
    const gone = ids.filter((_id, index) => records[index]?.leaves[0]?.deleted !== false);
    if (gone.length > 0) yield gone;
  }
}
