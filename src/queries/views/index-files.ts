import { DESIGN_RANGE } from '../../database/documents/identifiers.ts';
import type { Database, DatabaseOrigin } from '../../database/store/contract.ts';
import type { PageStore } from '../../storage/page-store.ts';
import type { DesignDocument } from './contract.ts';
import type { GroupDefinition } from './trees/definition.ts';

/** The end of an index file's name, after that of the database's file and a dot: the signature. */
const INDEX_SUFFIX = /^[0-9a-f]{32}$/;

export function indexFile({ file }: Pick<DatabaseOrigin, 'file'>, { signature }: GroupDefinition): string {
  return `${file}.${signature}`;
}

/** Returns the files of a database's indexes, including those that belong to none of its design documents. */
export async function indexFilesOf(store: PageStore, { file }: DatabaseOrigin): Promise<string[]> {
  const files = await store.list();
  return files.filter((name) => name.startsWith(`${file}.`) && INDEX_SUFFIX.test(name.slice(file.length + 1)));
}

export async function designDocumentsOf(database: Database): Promise<DesignDocument[]> {
  const snapshot = database.snapshot();
  try {
    const designs: DesignDocument[] = [];
    for await (const rows of snapshot.rows(DESIGN_RANGE)) {
      for (const row of rows) {
        const [winner] = (await row.record()).leaves;
        const body = winner && (await snapshot.body(winner));
        designs.push({ id: row.id, rev: row.rev, body: body ?? '{}' });
      }
    }
    return designs;
  } finally {
    snapshot.release();
  }
}
