/** `GET /{db}/{docid}` for one revision (docs/http.md#reading-a-document). */
import { ChunkStream } from '../../attachments/outgoing.ts';
import type { CurrentDocument, DocumentRecord, Snapshot, StoredNode } from '../../database/contract.ts';
import type { DocId } from '../../documents/contract.ts';
import { writeQuoted } from '../../documents/outgoing.ts';
import { type MaybePromise, whenReady } from '../../shared/maybe-promise.ts';
import { accepts } from '../request/accept.ts';
import type { Answer, Context } from '../request/context.ts';
import { withSnapshot, withSnapshotLease } from '../request/snapshot-lease.ts';
import { hasTag, matchesTag, revisionTag } from '../response/etags.ts';
import { jsonAnswer, MUST_REVALIDATE, notModified, textAnswer, withHeader } from '../response/responses.ts';
import { streamedBody } from '../response/streams.ts';
import { documentText, metaOf, readMetaFlags, revOf } from './document-rendering.ts';
import { type AttachmentFlags, documentPieces, needsAttachments, readAttachmentFlags } from './inline-attachments.ts';
import { answerOpenRevisions, parseOpenRevs } from './open-revisions.ts';
import { type RelatedDocument, relatedDocument } from './related-document.ts';
import { missing, nodeToRead } from './requested-revision.ts';

export function getDocument(context: Context, database: string, id: DocId): MaybePromise<Answer> {
  const wantsParts = takesPartsAlone(context.header('accept'));
  const current = context.query.isEmpty && !wantsParts && context.services.registry.peek(database)?.current(id);
  if (current && hasTag(current.rev)) return answerCurrent(context, id, current);
  const openRevs = context.query.get('open_revs');
  const wanted = openRevs === undefined ? undefined : parseOpenRevs(openRevs);
  if (wanted !== undefined) return answerOpenRevisions(context, database, id, wanted);
  const asked = readAttachmentFlags(context.query);
  const attached = wantsParts ? { since: [], encodingInfo: false, ...asked, content: true } : asked;
  if (attached !== undefined) return answerAttached(context, database, id, attached);
  return withSnapshot(context, database, (snapshot) => answerOneRevision(context, snapshot, id));
}

/** Whether the client takes a document with its attachments behind it and takes no JSON, so that it need not ask for them in the query. */
function takesPartsAlone(accept: string | undefined): boolean {
  if (accept === undefined || !/multipart\//i.test(accept)) return false;
  return accepts(accept, 'multipart/related') && !accepts(accept, 'application/json');
}

/** All that is left to do where neither a query asks for more nor anything has to be waited for: with a snapshot it would take twice as long. */
function answerCurrent(context: Context, id: DocId, { rev, body }: CurrentDocument): Answer {
  const quoted = `"${rev}"`;
  if (matchesTag(context.header('if-none-match'), quoted)) return notModified(quoted);
  const text = writeQuoted(JSON.stringify(id), quoted, { deleted: false, body });
  return withHeader(jsonAnswer(context, 200, text), 'etag', quoted);
}

/** As `answerOneRevision`, with what the query asks of the attachments: their content is read while the answer is. */
function answerAttached(context: Context, database: string, id: DocId, flags: AttachmentFlags): Promise<Answer> {
  return withSnapshotLease(context, database, async ({ snapshot, release }) => {
    const record = await snapshot.document(id);
    const node = nodeToRead(record, context.query.get('rev'), context.query.flag('latest'));
    const body = node === undefined ? undefined : await snapshot.body(node);
    if (record === undefined || node === undefined || body === undefined) throw missing();
    if (!needsAttachments(body, flags)) {
      const answer = await answerNode(context, snapshot, record, node);
      release();
      return answer;
    }
    const { members, tag } = metaAndTag(context, record, node);
    if (tag !== undefined && matchesTag(context.header('if-none-match'), tag)) {
      release();
      return notModified(tag);
    }
    if (flags.content && accepts(context.header('accept'), 'multipart/related')) {
      const boundary = context.services.uuids.random();
      const related = await relatedDocument(snapshot, { record, node, body, members }, flags, boundary);
      if (related !== undefined) return relatedAnswer(context, related, tag, release);
    }
    const pieces = documentPieces(snapshot, { record, node, body, members }, flags);
    const answer = textAnswer(context, 200, await streamedBody(context, withNewline(pieces), release));
    return tag === undefined ? answer : withHeader(answer, 'etag', tag);
  });
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

/** The revision that the query's `rev` names, else the winner. */
function answerOneRevision(context: Context, snapshot: Snapshot, id: DocId): MaybePromise<Answer> {
  return whenReady(snapshot.document(id), (record) => answerRecord(context, snapshot, record));
}

function answerRecord(context: Context, snapshot: Snapshot, record: DocumentRecord | undefined): MaybePromise<Answer> {
  const node = nodeToRead(record, context.query.get('rev'), context.query.flag('latest'));
  if (record === undefined || node?.body === undefined) throw missing();
  return answerNode(context, snapshot, record, node);
}

/** The revision identifies the answer where that has no members beside the document's own but its ancestry. */
function metaAndTag(
  context: Context,
  record: DocumentRecord,
  node: StoredNode,
): { readonly members: string; readonly tag: string | undefined } {
  const flags = readMetaFlags(context.query);
  const members = flags === undefined ? '' : metaOf(record, node, flags);
  const isOwn = flags === undefined || metaOf(record, node, { ...flags, revs: false }) === '';
  const rev = revOf(node);
  return { members, tag: isOwn && hasTag(rev) ? revisionTag(rev) : undefined };
}

function answerNode(
  context: Context,
  snapshot: Snapshot,
  record: DocumentRecord,
  node: StoredNode,
): MaybePromise<Answer> {
  const { members, tag } = metaAndTag(context, record, node);
  if (tag !== undefined && matchesTag(context.header('if-none-match'), tag)) return notModified(tag);
  return whenReady(snapshot.body(node), (body) => {
    if (body === undefined) throw missing();
    const answer = jsonAnswer(context, 200, documentText(record, node, body, members));
    return tag === undefined ? answer : withHeader(answer, 'etag', tag);
  });
}
