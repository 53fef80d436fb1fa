/**
 * What all document writes have in common: how durable they are, what is not supported yet, and their answers
 * (interface.md 4.5; completion 5).
 */
import type { Database, DocumentWrite, Durability, WriteOptions, WriteOutcome } from '../../database/contract.ts';
import type { DocId, IncomingDocument } from '../../documents/contract.ts';
import { isLocalId } from '../../documents/identifiers.ts';
import { scanDocument } from '../../documents/incoming/incoming.ts';
import { isLocalRev } from '../../documents/revisions/revisions.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import { must } from '../../shared/assert.ts';
import { type MaybePromise, whenReady } from '../../shared/maybe-promise.ts';
import { isMultipart, readText } from '../request/bodies.ts';
import type { Answer, Context } from '../request/context.ts';
import { revisionTag } from '../response/etags.ts';
import { documentLocation } from '../response/locations.ts';
import { jsonAnswer, withHeader } from '../response/responses.ts';
import { useLent } from '../routing/resources.ts';
import { ownKind } from './revision-sources.ts';

/**
 * `X-Svc-Full-Commit: true` has the answer wait until the write survives a power cut. With `false`, and without the
 * header, it survives the end of the process, which is more than `delayed_commits` ever promised.
 */
export function durabilityOf(context: Context): Durability {
  return context.ownHeader('full-commit') === 'true' ? 'strict' : 'relaxed';
}

/** Only the literal `false` switches it off. */
export function isNewEdit(context: Context): boolean {
  return context.query.get('new_edits') !== 'false';
}

/** The document in the request's body. Fails with `not_implemented` where attachments come with it. */
export function readDocumentBody(context: Context): MaybePromise<IncomingDocument> {
  if (isMultipart(context, 'related')) throw noAttachments('Send the document as application/json, without them.');
  return whenReady(
    readText(context),
    (text) => scanDocument(text) ?? useLent(context, ({ readDocument }) => readDocument(text)),
  );
}

export function noAttachments(remedy: string): DatabaseError {
  return new DatabaseError('not_implemented', `Attachments are not implemented yet. ${remedy}`);
}

/** The write for a replicated revision (completion 5.2). Local documents have no history and pass as they are. */
export function replicatedWrite(id: DocId, document: IncomingDocument): DocumentWrite {
  const { rev, deleted, body, revisions } = document;
  if (rev === undefined && !isLocalId(id)) {
    throw new DatabaseError('bad_request', 'Document must have a _rev when new_edits is false');
  }
  return { id, rev: rev === undefined ? undefined : ownKind(id, rev), revisions, deleted, body };
}

/** Writes one document by the query's `new_edits` and `batch`, and answers. */
export function answerWrite(
  context: Context,
  database: string,
  write: DocumentWrite,
  newEdits: boolean,
): MaybePromise<Answer> {
  if (isLocalId(write.id)) return answerLocalWrite(context, database, write, newEdits);
  if (newEdits && context.query.get('batch') === 'ok') return answerLater(context, database, write);
  const options = { newEdits, durability: durabilityOf(context), user: context.user };
  const outcomes = context.services.registry.use(database, (open) => open.write([write], options));
  return whenReady(outcomes, ([outcome]) => writtenAnswer(context, database, accepted(must(outcome))));
}

function accepted(outcome: WriteOutcome): Extract<WriteOutcome, { readonly ok: true }> {
  if (!outcome.ok) throw outcome.error;
  return outcome;
}

/** 202 at once; whether the write succeeds is never told. */
async function answerLater(context: Context, database: string, write: DocumentWrite): Promise<Answer> {
  await context.services.registry.use(database, (open) => open.writeDelayed([write], context.user));
  const answer = jsonAnswer(context, 202, `{"ok":true,"id":${JSON.stringify(write.id)}}`);
  return write.deleted ? answer : withHeader(answer, 'location', documentLocation(context, database, write.id));
}

async function answerLocalWrite(
  context: Context,
  database: string,
  write: DocumentWrite,
  newEdits: boolean,
): Promise<Answer> {
  const options = { newEdits, durability: durabilityOf(context), user: context.user };
  const rev = await context.services.registry.use(database, (open) => writeLocal(open, write, options));
  return writtenAnswer(context, database, { id: write.id, rev, deleted: write.deleted });
}

/**
 * A replicated one replaces what is there: it has no history that could tell a conflict. A revision that none of these
 * documents can have is one in either mode (completion 5.3). All or nothing looks for no conflicts (interface.md 4.4).
 */
export async function writeLocal(database: Database, write: DocumentWrite, options: WriteOptions): Promise<string> {
  const { id, rev, deleted, body } = write;
  const isForced = options.allOrNothing === true;
  if (!isForced && rev !== undefined && !isLocalRev(rev))
    throw new DatabaseError('conflict', 'Document update conflict.');
  const current = options.newEdits && !isForced ? rev : (await database.readLocal(id))?.rev;
  return database.writeLocal(id, current, deleted ? undefined : body, options.durability);
}

/** 201 for a live result, 200 for a deletion, which has no `Location`. */
function writtenAnswer(
  context: Context,
  database: string,
  { id, rev, deleted }: { readonly id: string; readonly rev: string; readonly deleted: boolean },
): Answer {
  const answer = jsonAnswer(context, deleted ? 200 : 201, writtenText(id, rev));
  withHeader(answer, 'etag', revisionTag(rev));
  return deleted ? answer : withHeader(answer, 'location', documentLocation(context, database, id));
}

export function writtenText(id: string, rev: string): string {
  return `{"ok":true,"id":${JSON.stringify(id)},"rev":${JSON.stringify(rev)}}`;
}
