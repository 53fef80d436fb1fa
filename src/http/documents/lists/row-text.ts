/** The text of a list's rows (docs/http/bulk.md#list-of-all-documents). */
import { DatabaseError } from '../../../base/errors/database-error.ts';

export function rowText(id: string, rev: string, doc: string | undefined): string {
  return quotedRowText(JSON.stringify(id), JSON.stringify(rev), doc);
}

/** Like `rowText`, with an id and a revision that are JSON text already. */
export function quotedRowText(id: string, rev: string, doc: string | undefined): string {
  const docMember = doc === undefined ? '' : `,"doc":${doc}`;
  return `{"id":${id},"key":${id},"value":{"rev":${rev}}${docMember}}`;
}

/** The row of a requested key that has a tombstone. */
export function deletedRowText(id: string, rev: string, includeDocs: boolean): string {
  const quotedId = JSON.stringify(id);
  const value = `{"rev":${JSON.stringify(rev)},"deleted":true}`;
  return `{"id":${quotedId},"key":${quotedId},"value":${value}${includeDocs ? ',"doc":null' : ''}}`;
}

/** Like `quotedRowText`, for a document in pieces. */
export async function* rowPieces(
  id: string,
  rev: string,
  doc: AsyncIterable<string>,
): AsyncGenerator<string, void, void> {
  yield `{"id":${id},"key":${id},"value":{"rev":${rev}},"doc":`;
  yield* doc;
  yield '}';
}

export function unknownRowText(key: unknown): string {
  return `{"key":${keyText(key)},"error":"not_found"}`;
}

/** `JSON.stringify` can't write values that are nested some thousand levels deep. */
function keyText(key: unknown): string {
  try {
    return JSON.stringify(key);
  } catch (cause) {
    throw new DatabaseError('bad_request', 'A key is nested too deeply.', { cause });
  }
}
