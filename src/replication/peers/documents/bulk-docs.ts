/** Writes revisions unchanged with `POST /{db}/_bulk_docs` (docs/http/bulk.md#bulk-writes). */
import { isObject, type JsonObject } from '../../../base/json/objects.ts';
import type { RefusedDocument } from '../../contract.ts';
import { SHORT_ANSWER } from '../client/answer.ts';
import type { PeerClient } from '../client/peer-client.ts';
import type { DocumentText } from '../contract.ts';

/** Statuses that concern the documents: any one of them may be the cause. */
const OF_DOCUMENTS = [400, 412, 413, 415, 417, 422];
export const TOO_LARGE = 413;

/** Maximum characters of a row: it may explain at length why a document was refused. */
const LONGEST_ROW = 16_384;

/** The peer accepted none of the documents, because of one of them or because of all. */
export interface BatchRefusal {
  readonly status: number;
  readonly error: string;
  readonly reason: string;
}

/**
 * Returns the documents that were refused, or why all were; `unclear` if the peer's refusal can't be assigned to a document: then
 * each has to be written by itself.
 */
export function writeBulk(
  client: PeerClient,
  documents: readonly DocumentText[],
): Promise<readonly RefusedDocument[] | BatchRefusal | 'unclear'> {
  const body = `{"new_edits":false,"docs":[${documents.map(({ text }) => text).join(',')}]}`;
  // Checkpoints make everything before them durable.
  const headers = { 'x-couch-full-commit': 'false' };
  const request = { method: 'POST', path: '/_bulk_docs', headers, body, accepts: OF_DOCUMENTS };
  return client.ask(request, async (answer) => {
    const { status } = answer;
    if (status >= 300) return { status, ...(await answer.refusal()) };
    const rows = await answer.json(SHORT_ANSWER + documents.length * LONGEST_ROW);
    if (!Array.isArray(rows)) throw answer.unusable('it is no list');
    if (rows.length > documents.length) throw answer.unusable(`it has more than ${documents.length} rows`);
    return readRows(rows, documents);
  });
}

function readRows(
  rows: readonly unknown[],
  documents: readonly DocumentText[],
): readonly RefusedDocument[] | 'unclear' {
  const refused = new Map<DocumentText, RefusedDocument>();
  for (const row of rows) {
    const refusal = isObject(row) ? refusalOf(row, documents) : undefined;
    if (!isObject(row) || refusal === undefined) continue;
    const document = documentOf(row, documents);
    if (document === undefined) return 'unclear';
    const { id, rev } = document;
    refused.set(document, { id, rev, ...refusal });
  }
  return [...refused.values()];
}

/** Undefined for a row of a document that was written unchanged. */
function refusalOf({ id, rev, error, reason }: JsonObject, documents: readonly DocumentText[]) {
  if (error !== undefined) return { error: textOf(error), reason: textOf(reason) };
  const revs = documents.filter((one) => one.id === id).map((one) => one.rev);
  const isOther = typeof rev === 'string' && revs.length > 0 && !revs.includes(rev);
  return isOther ? { error: 'bad_answer', reason: `the target says that it wrote it as revision ${rev}` } : undefined;
}

/** Returns the row's document. Not all servers name the revision, and some not the id. */
function documentOf({ id, rev }: JsonObject, documents: readonly DocumentText[]): DocumentText | undefined {
  if (documents.length === 1) return documents[0];
  const [first, ...more] = documents.filter((document) => document.id === id);
  return more.length === 0 ? first : [first, ...more].find((document) => document?.rev === rev);
}

/** Functions may refuse with any JSON value. */
function textOf(reason: unknown): string {
  return typeof reason === 'string' ? reason : (JSON.stringify(reason) ?? '');
}
