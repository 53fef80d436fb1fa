/** `POST /{db}/_bulk_docs` (interface.md 4.4; completion 7). One malformed document fails the whole, nothing is written. */
import type { Database, DocumentWrite, WriteOptions } from '../../database/contract.ts';
import type { IncomingDocument } from '../../documents/contract.ts';
import { isLocalId, parseDocId } from '../../documents/identifiers.ts';
import { readBulkInSteps } from '../../documents/incoming-bulk.ts';
import type { MaybePromise } from '../../shared/maybe-promise.ts';
import { inTurns, mapInSteps } from '../../shared/turn.ts';
import { readText, requireJsonType } from '../bodies.ts';
import type { BulkRow } from '../bulk-row.ts';
import type { Answer, Context } from '../context.ts';
import { showError } from '../error-table.ts';
import { useLent } from '../resources.ts';
import { jsonAnswer } from '../responses.ts';
import { ownKind } from '../revision-sources.ts';
import { durabilityOf, refuseAttachments, replicatedWrite, writtenText } from '../writing.ts';

export async function postBulkDocs(context: Context, database: string): Promise<Answer> {
  requireJsonType(context);
  const { documents, newEdits, allOrNothing } = await inTurns(readBulkInSteps(await readText(context)));
  const writes = await inTurns(mapInSteps(documents, (document) => toWrite(context, document, newEdits)));
  const options = { newEdits, allOrNothing, durability: durabilityOf(context), user: context.user };
  const rows = await context.services.registry.use(database, (open) => writeAll(context, open, writes, options));
  if (!newEdits) return jsonAnswer(context, 201, await listText(rows.filter(isRefused), refusedText));
  if (allOrNothing && rows.some(isRefused)) {
    // The others were aborted with them.
    const refused = rows.filter(isRefused).filter((row) => row.error.code !== 'cancelled');
    return jsonAnswer(context, 417, await listText(refused, refusedText));
  }
  return jsonAnswer(context, 201, await listText(rows, rowText));
}

function toWrite(context: Context, document: IncomingDocument, newEdits: boolean): DocumentWrite {
  refuseAttachments(document);
  const id = document.id ?? parseDocId(context.services.uuids.next());
  if (!newEdits) return replicatedWrite(id, document);
  const { rev, deleted, body } = document;
  return { id, rev: rev === undefined ? undefined : ownKind(id, rev), deleted, body };
}

function writeAll(
  context: Context,
  database: Database,
  writes: readonly DocumentWrite[],
  options: WriteOptions,
): MaybePromise<readonly BulkRow[]> {
  if (!writes.some(({ id }) => isLocalId(id))) return database.write(writes, options);
  return useLent(context, ({ writeWithLocals }) => writeWithLocals(database, writes, options));
}

function isRefused(row: BulkRow): row is Extract<BulkRow, { readonly ok: false }> {
  return !row.ok;
}

async function listText<T>(rows: readonly T[], textOf: (row: T) => string): Promise<string> {
  return `[${(await inTurns(mapInSteps(rows, textOf))).join(',')}]`;
}

function rowText(row: BulkRow): string {
  if (row.ok) return writtenText(row.id, row.rev);
  if (row.error.code !== 'conflict') return refusedText(row);
  const { error, reason } = showError(row.error);
  return JSON.stringify({ id: row.id, error, reason });
}

function refusedText({ id, rev, error: failure }: Extract<BulkRow, { readonly ok: false }>): string {
  const { error, reason } = showError(failure);
  return JSON.stringify({ id, rev, error, reason });
}
