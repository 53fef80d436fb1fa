/**
 * `GET /{db}/{docid}` for one revision (docs/http/documents.md#reading-a-document), and for local documents
 * (docs/http/documents.md#local-documents).
 */

import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import { utf8Length } from '../../base/shared/utf8.ts';
import { ChunkStream } from '../../database/attachments/outgoing.ts';
import type { DocId } from '../../database/documents/contract.ts';
import { writeDocument, writeQuoted } from '../../database/documents/outgoing.ts';
import type { CurrentDocument, DocumentRecord, LocalDocument, Snapshot } from '../../database/store/contract.ts';
import { accepts } from '../request/accept.ts';
import type { Answer, Context } from '../request/context.ts';
import { withSnapshot, withSnapshotLease } from '../request/snapshot-lease.ts';
import {
  hasTag,
  jsonAnswer,
  MUST_REVALIDATE,
  matchesTag,
  notModified,
  revisionTag,
  textAnswer,
  withHeader,
} from '../response/responses.ts';
import { sizedBody, streamedBody } from '../response/streams.ts';
import { documentText, hasOtherMeta, metaOf, readMetaFlags, revOf } from '../shown/document-rendering.ts';
import { type AttachmentFlags, readAttachmentFlags } from '../shown/inline-attachments.ts';
import { hasShownAttachments, isLong, type ShownRevision, shownPieces } from '../shown/shown-revision.ts';
import { answerOpenRevisions, parseOpenRevs } from './open-revisions.ts';
import { type RelatedDocument, relatedDocument } from './related-document.ts';
import { missing, nodeToRead } from './revision-selection.ts';

export function getDocument(context: Context, database: string, id: DocId): MaybePromise<Answer> {
  const wantsParts = takesPartsAlone(context.header('accept'));
  const current = context.query.isEmpty && !wantsParts && context.database?.current(id);
  if (current && hasTag(current.rev)) return answerCurrent(context, id, current);
  const openRevs = context.query.get('open_revs');
  const wanted = openRevs === undefined ? undefined : parseOpenRevs(openRevs);
  if (wanted !== undefined) return answerOpenRevisions(context, database, id, wanted);
  const asked = readAttachmentFlags(context.query);
  const attached = wantsParts ? { since: [], encodingInfo: false, ...asked, content: true } : asked;
  if (attached !== undefined) return answerInPieces(context, database, id, attached);
  const answer = withSnapshot(context, database, (snapshot) => answerOneRevision(context, snapshot, id));
  return whenReady(answer, (short) => short ?? answerInPieces(context, database, id, undefined));
}

/** Whether the client accepts a document followed by its attachments, but not JSON, so that it need not ask for them in the query. */
function takesPartsAlone(accept: string | undefined): boolean {
  if (accept === undefined || !/multipart\//i.test(accept)) return false;
  return accepts(accept, 'multipart/related') && !accepts(accept, 'application/json');
}

/** The shortcut if the query asks for no more and nothing has to be waited for: with a snapshot this would take twice as long. */
function answerCurrent(context: Context, id: DocId, { rev, body }: CurrentDocument): Answer {
  const quoted = `"${rev}"`;
  if (matchesTag(context.header('if-none-match'), quoted)) return notModified(quoted);
  const text = writeQuoted(JSON.stringify(id), quoted, { deleted: false, body });
  return withHeader(jsonAnswer(context, 200, text), 'etag', quoted);
}

/** Like `answerOneRevision`, for what is read while the response is sent: content of attachments, and long documents. */
function answerInPieces(
  context: Context,
  database: string,
  id: DocId,
  flags: AttachmentFlags | undefined,
): Promise<Answer> {
  return withSnapshotLease(context, database, async ({ snapshot, release }) => {
    const record = await snapshot.document(id);
    const shown = { ...mustShow(context, record), attachments: flags };
    if (!hasShownAttachments(shown) && !isLong(shown)) {
      const answer = await answerShort(context, snapshot, shown);
      release();
      return answer;
    }
    const tag = tagOf(shown);
    if (tag !== undefined && matchesTag(context.header('if-none-match'), tag)) {
      release();
      return notModified(tag);
    }
    if (flags?.content === true && accepts(context.header('accept'), 'multipart/related')) {
      const boundary = context.services.uuids.random();
      const related = await relatedDocument(context, snapshot, shown, flags, boundary);
      if (related !== undefined) return relatedAnswer(context, related, tag, release);
    }
    const pieces = withNewline(shownPieces(snapshot, shown));
    const length = lengthOf(shown);
    const body =
      length === undefined
        ? await streamedBody(context, pieces, release)
        : await sizedBody(context, { pieces, release }, length);
    const answer = textAnswer(context, 200, body);
    return tag === undefined ? answer : withHeader(answer, 'etag', tag);
  });
}

/** Bytes of the response if they are known before its body is read. */
function lengthOf(shown: ShownRevision): number | undefined {
  const { record, node, meta } = shown;
  if (meta !== undefined || hasShownAttachments(shown) || node.body === undefined) return undefined;
  const head = documentText(record, node, '{}', undefined);
  // The body's opening brace becomes a comma, the head lacks its closing brace, and a newline follows.
  return utf8Length(head) - 1 + node.body.length + 1;
}

function relatedAnswer(
  context: Context,
  { boundary, length, chunks, release: releaseReaders }: RelatedDocument,
  tag: string | undefined,
  release: () => void,
): Answer {
  const releaseAll = () => {
    releaseReaders();
    release();
  };
  const headers = {
    'content-type': `multipart/related; boundary="${boundary}"`,
    'content-length': String(length),
    'cache-control': MUST_REVALIDATE,
    vary: 'Accept',
    ...(tag === undefined ? {} : { etag: tag }),
  };
  if (!context.isHead) return { status: 200, headers, body: new ChunkStream(chunks, length, releaseAll) };
  releaseAll();
  return { status: 200, headers, body: null };
}

async function* withNewline(pieces: AsyncIterable<string>): AsyncGenerator<string, void, void> {
  yield* pieces;
  yield '\n';
}

/** Answers with the revision of the query's `rev`, or the winner. Returns undefined if that is long. */
function answerOneRevision(context: Context, snapshot: Snapshot, id: DocId): MaybePromise<Answer | undefined> {
  return whenReady(snapshot.document(id), (record) => {
    const shown = mustShow(context, record);
    return isLong(shown) ? undefined : answerShort(context, snapshot, shown);
  });
}

function mustShow(context: Context, record: DocumentRecord | undefined): ShownRevision {
  const node = nodeToRead(record, context.query.get('rev'), context.query.flag('latest'));
  if (record === undefined || node?.body === undefined) throw missing();
  return { record, node, meta: readMetaFlags(context.query) };
}

/** The revision identifies the response if that adds no members to the document's own except its ancestry. */
function tagOf({ record, node, meta }: ShownRevision): string | undefined {
  const rev = revOf(node);
  return (meta === undefined || !hasOtherMeta(record, meta)) && hasTag(rev) ? revisionTag(rev) : undefined;
}

function answerShort(context: Context, snapshot: Snapshot, shown: ShownRevision): MaybePromise<Answer> {
  const { record, node, meta } = shown;
  const tag = tagOf(shown);
  if (tag !== undefined && matchesTag(context.header('if-none-match'), tag)) return notModified(tag);
  return whenReady(snapshot.body(node), (body) => {
    if (body === undefined) throw missing();
    const members = meta === undefined ? undefined : metaOf(record, node, meta);
    const answer = jsonAnswer(context, 200, documentText(record, node, body, members));
    return tag === undefined ? answer : withHeader(answer, 'etag', tag);
  });
}

/** Memory reserved during the read: the length is unknown until the whole document has been read. */
const READ_BYTES = 16_777_216;

/** Treats any other requested revision as missing: there is only one. */
export function getLocalDocument(context: Context, database: string, id: DocId): MaybePromise<Answer> {
  if (context.request.peer !== undefined) return getInLine(context, database, id);
  const local = context.useDatabase(database, (open) => open.readLocal(id));
  return whenReady(local, (found) => answerLocal(context, id, found));
}

/** Waits for memory: many long documents read at once could exhaust it. */
async function getInLine(context: Context, database: string, id: DocId): Promise<Answer> {
  const release = await context.holdForPart(READ_BYTES, 0);
  try {
    return answerLocal(context, id, await context.useDatabase(database, (open) => open.readLocal(id)));
  } finally {
    release();
  }
}

function answerLocal(context: Context, id: DocId, local: LocalDocument | undefined): Answer {
  const asked = context.query.get('rev');
  if (local === undefined || (asked !== undefined && asked !== local.rev)) throw missing();
  const tag = revisionTag(local.rev);
  if (matchesTag(context.header('if-none-match'), tag)) return notModified(tag);
  const text = writeDocument({ id, rev: local.rev, deleted: false, body: local.body });
  return withHeader(jsonAnswer(context, 200, text), 'etag', tag);
}
