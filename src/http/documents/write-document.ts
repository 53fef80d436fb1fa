/**
 * Writing single documents (docs/http/documents.md#writing-a-document): the requests, the revision that a write builds on, and how
 * it is carried out and answered.
 */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { must } from '../../base/shared/assert.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import { runCooperatively } from '../../base/shared/turn.ts';
import { booleanSetting } from '../../base/system/config.ts';
import type { BadRev, DocId, IncomingDocument, RevId } from '../../database/documents/contract.ts';
import { isLocalId, parseDocId } from '../../database/documents/identifiers.ts';
import { readDocumentInSteps } from '../../database/documents/incoming/read-document.ts';
import { invalidRev, isLocalRev, parseRevId, toRevision } from '../../database/documents/revisions/revisions.ts';
import type { Database, DocumentWrite, Durability, WriteOptions } from '../../database/store/contract.ts';
import { isMultipart, readText, requireJsonType } from '../request/bodies.ts';
import type { Answer, Context } from '../request/context.ts';
import { commitRight } from '../request/kept-rights.ts';
import { withSnapshot } from '../request/snapshot-lease.ts';
import { documentLocation, withLocation } from '../response/locations.ts';
import { jsonAnswer, revisionTag, withHeader } from '../response/responses.ts';
import { hasIncoming, type IncomingWrite, writeAttached } from './attached-writes.ts';
import { receiveRelated } from './related-request.ts';
import { missing, nodeToRead } from './revision-selection.ts';

/** Uses the id in the address, regardless of the body's `_id`. */
export function putDocument(context: Context, database: string, id: DocId): MaybePromise<Answer> {
  if (isMultipart(context, 'related')) return putRelated(context, database, id);
  return whenReady(readDocumentBody(context), (document) => {
    const newEdits = isNewEdit(context);
    return writeAndAnswer(context, database, incomingWrite(context, id, document, newEdits), newEdits);
  });
}

function incomingWrite(context: Context, id: DocId, document: IncomingDocument, newEdits: boolean): IncomingWrite {
  const rev = baseRevision(context, id, document.rev);
  if (!newEdits) return replicatedWrite(id, { ...document, rev });
  const { deleted, body, attachments: incoming } = document;
  return { id, rev, deleted, body, incoming };
}

function readDocumentBody(context: Context): MaybePromise<IncomingDocument> {
  return whenReady(readText(context), (text) => runCooperatively(readDocumentInSteps(text)));
}

/** Writes a document that is followed by its attachments. */
function putRelated(context: Context, database: string, id: DocId): MaybePromise<Answer> {
  return context.useDatabase(database, async (open) => {
    const { document, followed, discard } = await receiveRelated(context, open);
    try {
      const newEdits = isNewEdit(context);
      const write = { ...incomingWrite(context, id, document, newEdits), followed };
      return writtenAnswer(context, database, await writeOne(context, open, write, writeOptions(context, newEdits)));
    } finally {
      await discard();
    }
  });
}

/** `POST /{db}`: the id is that of the body, or a new one. */
export async function postDocument(context: Context, database: string): Promise<Answer> {
  requireJsonType(context);
  const document = await readDocumentBody(context);
  const id = document.id ?? parseDocId(context.services.uuids.next());
  if (!isNewEdit(context)) return writeAndAnswer(context, database, replicatedWrite(id, document), false);
  const { deleted, body, attachments: incoming } = document;
  const rev = document.rev === undefined ? undefined : revOfOwnKind(id, document.rev);
  return writeAndAnswer(context, database, { id, rev, deleted, body, incoming }, true);
}

/** Answers 404 if there is nothing to delete, before it checks for 409. */
export async function deleteDocument(context: Context, database: string, id: DocId): Promise<Answer> {
  const rev = baseRevision(context, id, undefined);
  await withSnapshot(context, database, async (snapshot, open) => {
    if (isLocalId(id)) {
      if ((await open.readLocal(id)) === undefined) throw missing();
    } else if (nodeToRead(await snapshot.document(id), undefined) === undefined) {
      throw missing();
    }
  });
  return writeAndAnswer(context, database, { id, rev, deleted: true, body: '{}' }, true);
}

/** Writes one document according to the query's `new_edits` and `batch`, and answers. */
export function writeAndAnswer(
  context: Context,
  database: string,
  write: IncomingWrite,
  newEdits: boolean,
): MaybePromise<Answer> {
  if (!isLocalId(write.id) && newEdits && context.query.get('batch') === 'ok' && !hasIncoming(write))
    return answerBeforeWriting(context, database, write);
  const options = writeOptions(context, newEdits);
  const written = context.useDatabase(database, (open) => writeOne(context, open, write, options));
  return whenReady(written, (outcome) => writtenAnswer(context, database, outcome));
}

interface Written {
  readonly id: DocId;
  readonly rev: string;
  readonly deleted: boolean;
}

/** Local documents are kept in memory as a whole while they are written and read. */
const MAX_LOCAL_LENGTH = 16_777_216;

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
  await context.useDatabase(database, (open) => open.writeDelayed([write], context.user));
  const answer = jsonAnswer(context, 202, `{"ok":true,"id":${JSON.stringify(write.id)}}`);
  return write.deleted ? answer : withLocation(answer, documentLocation(context, database, write.id));
}

/**
 * A replicated local document replaces what is there, since it has no history to show a conflict (docs/http/documents.md#local-documents); it is
 * refused if it names a revision that no local document can have. All-or-nothing mode refuses nothing (docs/http/bulk.md#all-or-nothing). The
 * database finds all other conflicts. Fails with `unauthorized` and `too_large`, see `checkLocal`.
 */
export async function writeLocal(
  context: Context,
  database: Database,
  write: DocumentWrite,
  options: WriteOptions,
): Promise<string> {
  checkLocal(context, write);
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

/**
 * Allows only admins to write local documents of system databases, in any way: no guard judges them (docs/http/accounts.md#reading-users). Fails with
 * `unauthorized`, and with `too_large` if the document has more than 16,777,216 characters.
 */
export function checkLocal({ restriction }: Context, { body, deleted }: DocumentWrite): void {
  if (restriction !== undefined) throw new DatabaseError('unauthorized', 'You are not a db or server admin.');
  if (deleted || body.length <= MAX_LOCAL_LENGTH) return;
  const reason = `a local document may have ${MAX_LOCAL_LENGTH} characters, and this one has ${body.length}; nothing was changed.`;
  throw new DatabaseError('too_large', `${reason} Keep large data in an ordinary document or in attachments.`);
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

/** Returns the write of a replicated revision. The database refuses one without a name, except for local documents, which have no history. */
export function replicatedWrite(id: DocId, document: IncomingDocument): IncomingWrite {
  const { rev, deleted, body, revisions, attachments: incoming } = document;
  const far = farRev(rev);
  if (far !== undefined) throw far.error;
  return { id, rev: rev === undefined ? undefined : revOfOwnKind(id, rev), revisions, deleted, body, incoming };
}

/** Returns the options for `newEdits`, with the right of the request's sender. */
export function writeOptions(context: Context, newEdits: boolean): WriteOptions {
  const durability = durabilityOf(context);
  return { newEdits, durability, user: context.user, address: context.clientAddress, right: commitRight(context) };
}

/**
 * With `X-Svc-Full-Commit: true` the response waits until the write survives a power cut, as all do while `svc/delayed_commits` is not `true`.
 * With `false`, or without the header while it is `true`, the write survives the end of the process.
 */
export function durabilityOf(context: Context): Durability {
  const wanted = context.ownHeader('full-commit');
  if (wanted === 'true' || wanted === 'false') return wanted === 'true' ? 'strict' : 'relaxed';
  return booleanSetting(context.services.config, 'svc', 'delayed_commits') ? 'relaxed' : 'strict';
}

/** Only the literal `false` switches it off. */
function isNewEdit(context: Context): boolean {
  return context.query.get('new_edits') !== 'false';
}

/**
 * Returns the revision from the body, the query's `rev` or `If-Match`. Fails with `bad_request` if two of them differ, or
 * if one can't be a revision of that document.
 */
export function baseRevision(context: Context, id: string, inBody: RevId | undefined): RevId | undefined {
  const inQuery = parseGiven(id, context.query.get('rev'));
  const inHeader = parseGiven(id, unquote(context.header('if-match')));
  const body = inBody === undefined ? undefined : revOfOwnKind(id, inBody);
  if (body !== undefined && inQuery !== undefined && body !== inQuery) {
    throw new DatabaseError('bad_request', 'Document rev from request body and query string have different values');
  }
  const explicit = body ?? inQuery;
  if (explicit !== undefined && inHeader !== undefined && explicit !== inHeader) {
    throw new DatabaseError('bad_request', 'Document rev and etag have different values');
  }
  return explicit ?? inHeader;
}

/** Parses a text from the query or a header as a revision; local documents have `0-<n>` (docs/http/documents.md#local-documents). */
function parseGiven(id: string, text: string | undefined): RevId | undefined {
  if (text === undefined) return undefined;
  return isLocalId(id) && isLocalRev(text) ? text : parseRevId(text);
}

/**
 * Returns the revision of a body. Fails with `bad_request` if it is one of a local document and this document is not local: when a body
 * without `_id` is read, either kind passes.
 */
export function revOfOwnKind(id: string, rev: RevId): RevId {
  const foreign = foreignRev(id, { rev });
  if (foreign !== undefined) throw foreign.error;
  return rev;
}

/** Finds a local document's revision that is used in another document. */
export function foreignRev(id: string, { rev }: { readonly rev: RevId | undefined }): BadRev | undefined {
  if (rev === undefined || !isLocalRev(rev) || isLocalId(id)) return undefined;
  return { text: rev, error: invalidRev() };
}

/** Generations above this are reserved for edits: after the very last one, no one could change or delete a document. */
const MAX_REPLICATED = 2 ** 52;
const FEWER_DIGITS = 15;

/** Finds a replicated revision whose generation leaves no room for that many edits. */
export function farRev(rev: RevId | undefined): BadRev | undefined {
  if (rev === undefined || rev.indexOf('-') <= FEWER_DIGITS || toRevision(rev).generation <= MAX_REPLICATED)
    return undefined;
  const reason = `The revision's generation is greater than ${MAX_REPLICATED}, which leaves too few generations for later edits. Nothing was written for it.`;
  return { text: rev, error: new DatabaseError('bad_request', reason) };
}

function unquote(tag: string | undefined): string | undefined {
  return tag?.replace(/^"+|"+$/g, '');
}
