import { parseInTurns } from '../../../base/json/parse-in-steps.ts';
import { must } from '../../../base/shared/assert.ts';
import { runCooperatively } from '../../../base/shared/turn.ts';
import { DESIGN_RANGE } from '../../../database/documents/identifiers.ts';
import type { Database, DocumentRow, Snapshot } from '../../../database/store/contract.ts';
import type { DesignDocument } from '../../views/contract.ts';
import { indexesOf, type JsonIndex } from './index-definition.ts';

export interface StoredIndex {
  readonly index: JsonIndex;
  readonly design: DesignDocument;
}

interface KnownDesign {
  readonly rev: string;
  readonly indexes: readonly StoredIndex[];
}

/**
 * Finds the indexes of a database. What a design document defines is kept with its revision, so that reading the catalog again
 * costs a walk over the ids and revisions of the design documents.
 */
export class IndexCatalog {
  readonly #known = new WeakMap<Database, ReadonlyMap<string, KnownDesign>>();

  /** Returns the indexes in the order of their design documents' ids. */
  async read(database: Database, snapshot: Snapshot): Promise<readonly StoredIndex[]> {
    const former = this.#known.get(database);
    const designs = new Map<string, KnownDesign>();
    for await (const rows of snapshot.rows(DESIGN_RANGE)) {
      for (const row of rows) {
        const known = former?.get(row.id);
        designs.set(row.id, known?.rev === row.rev ? known : await readDesign(snapshot, row));
      }
    }
    this.#known.set(database, designs);
    return [...designs.values()].flatMap(({ indexes }) => indexes);
  }
}

async function readDesign(snapshot: Snapshot, row: DocumentRow): Promise<KnownDesign> {
  const { id, rev } = row;
  const { leaves } = await row.record();
  const body = (await snapshot.body(must(leaves[0]))) ?? '{}';
  const design: DesignDocument = { id, rev, body };
  const indexes = await runCooperatively(indexesOf(id, await parseInTurns(body)));
  return { rev, indexes: indexes.map((index) => ({ index, design })) };
}
