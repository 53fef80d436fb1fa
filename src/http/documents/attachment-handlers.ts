/**
 * `/{db}/{docid}/{attachment}` (docs/http/attachments.md). The name may contain slashes. To add an attachment, or to remove one, is
 * to write the document.
 */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { must } from '../../base/shared/assert.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import { runCooperatively } from '../../base/shared/turn.ts';
import { takeIn } from '../../database/attachments/intake.ts';
import type { DocId, RevId, StoredAttachment } from '../../database/documents/contract.ts';
import {
  checkAddressable,
  checkAttachmentName,
  DEFAULT_CONTENT_TYPE,
} from '../../database/documents/incoming/incoming-attachment.ts';
import { findNode } from '../../database/documents/revisions/revision-tree.ts';
import { toRevision } from '../../database/documents/revisions/revisions.ts';
import { readContentMd5, splitAttachments } from '../../database/documents/stored-attachments.ts';
import type { AttachmentWrite, Database, DocumentRecord, StoredNode } from '../../database/store/contract.ts';
import { accepts } from '../request/accept.ts';
import { bodyChunks, isStream } from '../request/bodies.ts';
import type { Answer, Context } from '../request/context.ts';
import { withSnapshot } from '../request/snapshot-lease.ts';
import { attachmentLocation, withLocation } from '../response/locations.ts';
import { jsonAnswer, revisionTag, withHeader } from '../response/responses.ts';
import { keptAttachment, uploadOf } from './attached-writes.ts';
import { attachmentAnswer } from './attachment-answer.ts';
import { missing, nodeToRead } from './revision-selection.ts';
import { baseRevision, writeOptions, writtenText } from './write-document.ts';

/** Reads the revision of the query's `rev`, or the winner. */
export async function getAttachment(context: Context, database: string, id: DocId, name: string): Promise<Answer> {
  const found = await withSnapshot(context, database, async (snapshot) => {
    const record = await snapshot.document(id);
    const node = nodeToRead(record, context.query.get('rev'));
    const body = node === undefined ? undefined : await snapshot.body(node);
    if (body === undefined) throw missing();
    const attachment = find((await runCooperatively(splitAttachments(body))).attachments, name);
    const reader = await snapshot.openAttachment(attachment);
    return { attachment, reader: must(reader, 'what a kept revision refers to is there') };
  });
  return attachmentAnswer(context, found.attachment, found.reader);
}

/** Creates the document if no revision is given, with only its attachment. */
export function putAttachment(context: Context, database: string, id: DocId, name: string): MaybePromise<Answer> {
  checkAttachmentName(name);
  checkAddressable(name);
  const rev = baseRevision(context, id, undefined);
  const encoding = encodingOf(context);
  const contentType = context.header('content-type') ?? DEFAULT_CONTENT_TYPE;
  const digest = readContentMd5(context.header('content-md5'));
  return context.useDatabase(database, async (open) => {
    // Before the body is read, which would be wasted work.
    await documentBefore(open, id, rev);
    const taken = await takeIn(open, context.services, {
      contentType,
      encoding,
      source: bodyChunks(context),
      digest: () => digest ?? trailingDigest(context),
    });
    try {
      const added = { name, contentType, revpos: undefined, ...uploadOf(taken) };
      return await writeChanged(context, database, open, { id, rev, name, added });
    } finally {
      taken.discard();
    }
  });
}

/** Fails with `not_found` if there is no such attachment. */
export function deleteAttachment(context: Context, database: string, id: DocId, name: string): MaybePromise<Answer> {
  const rev = baseRevision(context, id, undefined);
  return context.useDatabase(database, (open) =>
    writeChanged(context, database, open, { id, rev, name, added: undefined }),
  );
}

interface Change {
  readonly id: DocId;
  readonly rev: RevId | undefined;
  readonly name: string;
  /** Undefined if the attachment is removed. */
  readonly added: AttachmentWrite | undefined;
}

/** Writes the document with one attachment changed. */
async function writeChanged(context: Context, database: string, open: Database, change: Change): Promise<Answer> {
  const { id, rev, name, added } = change;
  const before = await documentBefore(open, id, rev);
  if (added === undefined) find(before.attachments, name);
  const others = before.attachments.filter((one) => one.name !== name).map(keptAttachment);
  const attachments = added === undefined ? others : [...others, added];
  const write = { id, rev, deleted: false, body: before.body, attachments };
  const outcome = must((await open.write([write], writeOptions(context, true)))[0], 'a write has an outcome');
  if (!outcome.ok) throw outcome.error;
  const answer = jsonAnswer(context, added === undefined ? 200 : 201, writtenText(id, outcome.rev));
  withHeader(answer, 'etag', revisionTag(outcome.rev));
  // Here `*/*` is enough for JSON: some clients that send bytes name no accepted type, and parse a response by its type.
  if (accepts(context.header('accept'), 'application/json')) withHeader(answer, 'content-type', 'application/json');
  return added === undefined ? answer : withLocation(answer, attachmentLocation(context, database, id, name));
}

function find(attachments: readonly StoredAttachment[], name: string): StoredAttachment {
  const found = attachments.find((one) => one.name === name);
  if (found === undefined) throw new DatabaseError('not_found', 'Document is missing attachment');
  return found;
}

function encodingOf(context: Context): 'gzip' | undefined {
  const encoding = (context.header('content-encoding') ?? 'identity').trim().toLowerCase();
  if (encoding === 'gzip') return encoding;
  if (encoding === 'identity' || encoding === '') return undefined;
  throw new DatabaseError('bad_content_type', 'Only gzip and identity content-encodings are supported');
}

/** Finds the digest that a trailer after the body states. */
function trailingDigest({ request: { body } }: Context): string | undefined {
  return readContentMd5(isStream(body) ? body.trailers?.['content-md5'] : undefined);
}

/**
 * Returns the document at the revision to be replaced. Without a revision there must be no document, or a deleted one, whose content is not
 * kept. Fails with `conflict`.
 */
export async function documentBefore(
  open: Database,
  id: DocId,
  rev: RevId | undefined,
): Promise<{ readonly attachments: readonly StoredAttachment[]; readonly body: string }> {
  const snapshot = open.snapshot();
  try {
    const record = await snapshot.document(id);
    if (rev === undefined) {
      if (record !== undefined && record.leaves[0]?.deleted !== true) throw conflict();
      return { attachments: [], body: '{}' };
    }
    const node = leafOf(record, rev);
    const body = node === undefined ? undefined : await snapshot.body(node);
    if (body === undefined) throw conflict();
    return await runCooperatively(splitAttachments(body));
  } finally {
    snapshot.release();
  }
}

function leafOf(record: DocumentRecord | undefined, rev: RevId): StoredNode | undefined {
  const node = record && findNode(record.leaves, toRevision(rev));
  return node !== undefined && record?.leaves.includes(node) === true ? node : undefined;
}

function conflict(): DatabaseError {
  return new DatabaseError('conflict', 'Document update conflict.');
}
