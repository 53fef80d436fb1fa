import type { Fetch } from '../database-client/contract.ts';
import { answerOf, SetteeError } from '../database-client/requests.ts';
import type { ExportOptions } from './contract.ts';
import { FRAMES, toPieces } from './format.ts';
import { linesOf, toStream } from './lines.ts';

/** Begins the document in a row. No JSON string contains it, since quotes in strings are escaped. */
const DOC = ',"doc":';

/**
 * Returns all documents of a database as JSON lines: each in its current revision, exactly as it is stored, in the order of their ids. This is what
 * `settee export` writes: without deleted documents, revisions that lost a conflict, and local documents. The lines show the database at one
 * moment, are read as fast as the stream is, and no request is sent before it is read. The stream fails with a `SetteeError` if the database
 * refuses, and with an Error if its response is cut off; the lines up to then are not a complete export.
 *
 * @param fetch `settee.fetch`, or any other
 * @param address such as `/db/notes`
 */
export function exportDatabase(
  fetch: Fetch,
  address: string,
  options: ExportOptions = {},
): ReadableStream<Uint8Array<ArrayBuffer>> {
  return toStream(toPieces(documentsOf(fetch, address.replace(/\/+$/, ''), options), FRAMES.lines));
}

async function* documentsOf(
  fetch: Fetch,
  address: string,
  { attachments = true, onProgress, signal }: ExportOptions,
): AsyncGenerator<string, void, void> {
  const path = `${address}/_all_docs?include_docs=true&attachments=${attachments}`;
  const headers = { accept: 'application/json' };
  const response = await fetch(path, { method: 'GET', headers, ...(signal && { signal }) });
  if (!response.ok || response.body === null) {
    await answerOf(response, `GET ${path}`);
    return;
  }
  let total: number | undefined;
  let documents = 0;
  let last = '';
  for await (const text of linesOf(response.body)) {
    const line = text.trim();
    if (line !== '') last = line;
    if (total === undefined) total = totalOf(line, path);
    else if (line.startsWith('{')) {
      yield documentOf(line);
      documents++;
      onProgress?.({ documents, total });
    }
  }
  if (!last.endsWith(']}')) throw new Error(`The response of ${address} was cut off; start the export again.`);
}

/** The row belongs to the document, and only the end of the row follows it (docs/http/bulk.md#row-framing). */
function documentOf(line: string): string {
  const row = line.replace(/,$/, '');
  const at = row.indexOf(DOC);
  if (at < 0) throw new Error(`The database returned a row without its document: ${row.slice(0, 200)}`);
  return row.slice(at + DOC.length, -1);
}

/** From the first line of the list. */
function totalOf(head: string, path: string): number {
  const [, rows] = /^\{"total_rows":(\d+),.*"rows":\[$/.exec(head) ?? [];
  if (rows !== undefined) return Number(rows);
  throw new SetteeError(
    200,
    'no_json',
    `GET ${path} was not answered by a database. Use the fetch that start() returns, and an address below its base.`,
  );
}
