/** Writes the documents of a database into a file, one a line. */
import { ask, type JsonObject, pathOf, withQuery } from '../server/client.ts';
import { runTransfer } from './transfers.ts';

export interface ExportOptions {
  /** The contents of attachments, as Base64. */
  readonly withAttachments: boolean;
  /** Revisions of the documents: for copies that replicate with the original. */
  readonly withRevisions: boolean;
  readonly withDesignDocuments: boolean;
}

const PER_PAGE = 1_000;
const PER_PAGE_WITH_ATTACHMENTS = 50;

interface Page {
  readonly total_rows: number;
  readonly rows: readonly { readonly id: string; readonly doc?: JsonObject | null }[];
}

export function exportDatabase(database: string, fileName: string, options: ExportOptions): Promise<void> {
  const limit = options.withAttachments ? PER_PAGE_WITH_ATTACHMENTS : PER_PAGE;
  return runTransfer({ database, kind: 'export', fileName }, async (tell, abortSignal) => {
    const parts: Blob[] = [];
    let [seen, done, bytes] = [0, 0, 0];
    let startkey: string | undefined;
    for (;;) {
      const { total_rows, rows } = await ask<Page>('GET', pagePath(database, startkey, limit, options), {
        signal: abortSignal,
        quiet: true,
      });
      const page = rows.slice(0, limit);
      const docs = page.flatMap(({ doc }) => (doc === null || doc === undefined ? [] : [doc]));
      const kept = docs.filter((doc) => options.withDesignDocuments || !`${doc['_id']}`.startsWith('_design/'));
      const part = new Blob(
        kept.map((doc) => `${JSON.stringify(options.withRevisions ? doc : withoutRevision(doc))}\n`),
      );
      parts.push(part);
      seen += page.length;
      done += kept.length;
      bytes += part.size;
      tell({ done, bytes, share: total_rows === 0 ? 1 : seen / total_rows });
      startkey = rows[limit]?.id;
      if (startkey === undefined) break;
    }
    tell({ result: new Blob(parts, { type: 'application/x-ndjson' }) });
  });
}

/** One more row than wanted says where the next page begins. */
function pagePath(database: string, startkey: string | undefined, limit: number, options: ExportOptions): string {
  return withQuery(pathOf(database, '_all_docs'), {
    include_docs: true,
    limit: limit + 1,
    startkey,
    attachments: options.withAttachments || undefined,
  });
}

/** Attachments that are not in the file can't be imported: their names would refer to nothing. */
function withoutRevision(doc: JsonObject): JsonObject {
  const { _rev, ...rest } = doc;
  const { _attachments, ...bare } = rest;
  return hasContents(_attachments) ? rest : bare;
}

function hasContents(attachments: unknown): boolean {
  return (
    typeof attachments === 'object' && attachments !== null && Object.values(attachments).every((one) => 'data' in one)
  );
}
