/** Writes revisions as they are with `POST /{db}/_bulk_docs` (docs/http.md#bulk-writes). */
import { isObject } from '../../../json/objects.ts';
import type { RefusedDocument } from '../../contract.ts';
import type { PeerClient } from '../asking/peer-client.ts';
import type { DocumentText } from '../contract.ts';

/** Statuses that speak of the documents: each of them may be the only one at fault. */
const OF_DOCUMENTS = [400, 412, 413, 415, 417, 422];
export const TOO_LARGE = 413;

/** The peer took none of the documents, because of one of them or because of all. */
export interface BatchRefusal {
  readonly status: number;
  readonly error: string;
  readonly reason: string;
}

/** Gives the documents that were refused, or why all were. */
export function writeBulk(
  client: PeerClient,
  documents: readonly DocumentText[],
): Promise<readonly RefusedDocument[] | BatchRefusal> {
  const body = `{"new_edits":false,"docs":[${documents.map(({ text }) => text).join(',')}]}`;
  // Checkpoints make all durable that came before them.
  const headers = { 'x-couch-full-commit': 'false' };
  const request = { method: 'POST', path: '/_bulk_docs', headers, body, accepts: OF_DOCUMENTS };
  return client.ask(request, async (answer) => {
    const { status } = answer;
    if (status >= 300) return { status, ...(await answer.refusal()) };
    const rows = await answer.json();
    if (!Array.isArray(rows)) throw answer.unusable('it is no list');
    return rows.flatMap((row: unknown) =>
      isObject(row) && row['error'] !== undefined ? [toRefused(row, documents)] : [],
    );
  });
}

/** Not all servers name the revision. */
function toRefused(row: Readonly<Record<string, unknown>>, documents: readonly DocumentText[]): RefusedDocument {
  const id = String(row['id']);
  const rev = row['rev'] ?? documents.find((document) => document.id === id)?.rev ?? '';
  return { id, rev: String(rev), error: String(row['error']), reason: reasonText(row['reason']) };
}

/** Functions may refuse with any JSON value. */
function reasonText(reason: unknown): string {
  return typeof reason === 'string' ? reason : (JSON.stringify(reason) ?? '');
}
