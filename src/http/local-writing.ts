/**
 * Writing local documents (interface.md 4.8; completion 5.3). They are not part of the transaction that writes ordinary ones: each is
 * written by itself, in either mode.
 */
import type { Database, DocumentWrite, WriteOptions } from '../database/contract.ts';
import type { DocId, RevId } from '../documents/contract.ts';
import { isLocalId } from '../documents/identifiers.ts';
import { isLocalRev } from '../documents/revisions.ts';
import { DatabaseError, isDatabaseError } from '../errors/database-error.ts';
import { must } from '../shared/assert.ts';
import type { BulkRow } from './bulk-row.ts';
import type { Answer, Context } from './context.ts';
import { missing } from './handlers/read-document.ts';
import { durabilityOf, writtenAnswer } from './writing.ts';

export async function answerLocalWrite(
  context: Context,
  database: string,
  write: DocumentWrite,
  newEdits: boolean,
): Promise<Answer> {
  const options = { newEdits, durability: durabilityOf(context), user: context.user };
  const rev = await context.services.registry.use(database, (open) => writeLocal(open, write, options));
  return writtenAnswer(context, database, { id: write.id, rev, deleted: write.deleted });
}

/** 404 where there is nothing to delete comes before 409. */
export async function deleteLocalDocument(
  context: Context,
  database: string,
  id: DocId,
  rev: RevId | undefined,
): Promise<Answer> {
  const local = await context.services.registry.use(database, (open) => open.readLocal(id));
  if (local === undefined) throw missing();
  return answerLocalWrite(context, database, { id, rev, deleted: true, body: '{}' }, true);
}

/** The writes of one `_bulk_docs`, of both kinds. */
export async function writeWithLocals(
  database: Database,
  writes: readonly DocumentWrite[],
  options: WriteOptions,
): Promise<readonly BulkRow[]> {
  const ordinary = writes.filter(({ id }) => !isLocalId(id));
  const outcomes = ordinary.length === 0 ? [] : await database.write(ordinary, options);
  const rows: BulkRow[] = [];
  let next = 0;
  for (const write of writes) {
    rows.push(isLocalId(write.id) ? await writeLocalRow(database, write, options) : must(outcomes[next++]));
  }
  return rows;
}

async function writeLocalRow(database: Database, write: DocumentWrite, options: WriteOptions): Promise<BulkRow> {
  const { id, rev } = write;
  try {
    return { ok: true, id, rev: await writeLocal(database, write, options) };
  } catch (error) {
    if (!isDatabaseError(error, 'conflict')) throw error;
    return { ok: false, id, rev, error };
  }
}

/**
 * A replicated one replaces what is there: it has no history that could tell a conflict. A revision that none of these
 * documents can have is one in either mode.
 */
export async function writeLocal(database: Database, write: DocumentWrite, options: WriteOptions): Promise<string> {
  const { id, rev, deleted, body } = write;
  if (rev !== undefined && !isLocalRev(rev)) throw new DatabaseError('conflict', 'Document update conflict.');
  const current = options.newEdits ? rev : (await database.readLocal(id))?.rev;
  return database.writeLocal(id, current, deleted ? undefined : body, options.durability);
}
