/**
 * What all document writes have in common: how durable they are, what is not supported yet, and their answers
 * (interface.md 4.5; completion 5).
 */
import type { DocumentWrite, Durability, WriteOutcome } from '../database/contract.ts';
import type { DocId, IncomingDocument } from '../documents/contract.ts';
import { isLocalId } from '../documents/identifiers.ts';
import { readDocument } from '../documents/incoming.ts';
import { DatabaseError } from '../errors/database-error.ts';
import { must } from '../shared/assert.ts';
import { type MaybePromise, whenReady } from '../shared/maybe-promise.ts';
import { isMultipart, readText } from './bodies.ts';
import type { Answer, Context } from './context.ts';
import { revisionTag } from './etags.ts';
import { documentLocation } from './locations.ts';
import { useLent } from './resources.ts';
import { jsonAnswer, withHeader } from './responses.ts';
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
  return whenReady(readText(context), (text) => {
    const document = readDocument(text);
    refuseAttachments(document);
    return document;
  });
}

export function refuseAttachments(document: IncomingDocument): void {
  if (document.hasAttachments) throw noAttachments('Send the document without its member _attachments.');
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
  if (isLocalId(write.id)) {
    return useLent(context, ({ answerLocalWrite }) => answerLocalWrite(context, database, write, newEdits));
  }
  if (newEdits && context.query.get('batch') === 'ok') {
    return useLent(context, ({ answerLater }) => answerLater(context, database, write));
  }
  const options = { newEdits, durability: durabilityOf(context), user: context.user };
  const outcomes = context.services.registry.use(database, (open) => open.write([write], options));
  return whenReady(outcomes, ([outcome]) => writtenAnswer(context, database, accepted(must(outcome))));
}

function accepted(outcome: WriteOutcome): Extract<WriteOutcome, { readonly ok: true }> {
  if (!outcome.ok) throw outcome.error;
  return outcome;
}

/** 201 for a live result, 200 for a deletion, which has no `Location`. */
export function writtenAnswer(
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
