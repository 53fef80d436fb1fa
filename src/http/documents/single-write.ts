/** How a single write is carried out and answered, for any kind of request (docs/http/documents.md#writing-a-document). */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { must } from '../../base/shared/assert.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import type { DocId, IncomingDocument } from '../../database/documents/contract.ts';
import { isLocalId } from '../../database/documents/identifiers.ts';
import { isLocalRev } from '../../database/documents/revisions/revisions.ts';
import type { Database, DocumentWrite, WriteOptions } from '../../database/store/contract.ts';
import type { Answer, Context } from '../request/context.ts';
import { writeOptions } from '../request/write-options.ts';
import { revisionTag } from '../response/etags.ts';
import { documentLocation, withLocation } from '../response/locations.ts';
import { jsonAnswer, withHeader } from '../response/responses.ts';
import { hasIncoming, type IncomingWrite, writeAttached } from './attached-writes.ts';
import { farRev, revOfOwnKind } from './base-revision.ts';

/** Only the literal `false` switches it off. */
export function isNewEdit(context: Context): boolean {
  return context.query.get('new_edits') !== 'false';
}

/** Returns the write of a replicated revision. The database refuses one without a name, except for local documents, which have no history. */
export function replicatedWrite(id: DocId, document: IncomingDocument): IncomingWrite {
  const { rev, deleted, body, revisions, attachments: incoming } = document;
  const far = farRev(rev);
  if (far !== undefined) throw far.error;
  return { id, rev: rev === undefined ? undefined : revOfOwnKind(id, rev), revisions, deleted, body, incoming };
}

/** Writes one document according to the query's `new_edits` and `batch`, and answers. */
export function answerWrite(
  context: Context,
  database: string,
  write: IncomingWrite,
  newEdits: boolean,
): MaybePromise<Answer> {
  if (!isLocalId(write.id) && newEdits && context.query.get('batch') === 'ok' && !hasIncoming(write))
    return answerBeforeWriting(context, database, write);
  const options = writeOptions(context, newEdits);
  const written = context.services.registry.use(database, (open) => writeOne(context, open, write, options));
  return whenReady(written, (outcome) => writtenAnswer(context, database, outcome));
}

interface Written {
  readonly id: DocId;
  readonly rev: string;
  readonly deleted: boolean;
}

/** Fails with the reason why a document is refused, most often `conflict`. */
export async function writeOne(
  context: Context,
  database: Database,
  write: IncomingWrite,
  options: WriteOptions,
): Promise<Written> {
  const { id, deleted } = write;
  if (isLocalId(id) && !hasIncoming(write))
    return { id, rev: await writeLocal(context, database, write, options), deleted };
  const [outcome] = await writeAttached(context, database, [write], options);
  const written = must(outcome, 'a write has an outcome');
  if (!written.ok) throw written.error;
  return written;
}

/** Answers 202 at once: the client does not learn whether the write succeeds. */
async function answerBeforeWriting(context: Context, database: string, write: DocumentWrite): Promise<Answer> {
  await context.services.registry.use(database, (open) => open.writeDelayed([write], context.user));
  const answer = jsonAnswer(context, 202, `{"ok":true,"id":${JSON.stringify(write.id)}}`);
  return write.deleted ? answer : withLocation(answer, documentLocation(context, database, write.id));
}

/**
 * A replicated local document replaces what is there, since it has no history to show a conflict (docs/http/documents.md#local-documents); it is
 * refused if it names a revision that no local document can have. All-or-nothing mode refuses nothing (docs/http/bulk.md#all-or-nothing). The
 * database finds all other conflicts. Fails with `unauthorized`, see `checkLocalRights`.
 */
export async function writeLocal(
  context: Context,
  database: Database,
  write: DocumentWrite,
  options: WriteOptions,
): Promise<string> {
  checkLocalRights(context);
  const { id, rev, deleted, body } = write;
  const content = deleted ? undefined : body;
  const { newEdits, allOrNothing = false, durability, right } = options;
  if (newEdits && !allOrNothing) return database.writeLocal(id, rev, content, { durability, right });
  if (!allOrNothing && rev !== undefined && !isLocalRev(rev)) {
    throw new DatabaseError('conflict', 'Document update conflict.');
  }
  const current = await database.readLocal(id);
  return database.writeLocal(id, current?.rev, content, { durability, right });
}

/** Allows only admins to write local documents of system databases, in any way: no guard judges them (docs/http/accounts.md#reading-users). */
export function checkLocalRights({ restriction }: Context): void {
  if (restriction !== undefined) throw new DatabaseError('unauthorized', 'You are not a db or server admin.');
}

/** Answers 201 for a live result, 200 for a deletion, which has no `Location`. */
export function writtenAnswer(context: Context, database: string, { id, rev, deleted }: Written): Answer {
  const answer = jsonAnswer(context, deleted ? 200 : 201, writtenText(id, rev));
  withHeader(answer, 'etag', revisionTag(rev));
  return deleted ? answer : withLocation(answer, documentLocation(context, database, id));
}

export function writtenText(id: string, rev: string): string {
  return `{"ok":true,"id":${JSON.stringify(id)},"rev":${JSON.stringify(rev)}}`;
}
