/** `GET /{db}/{docid}` for one revision (interface.md 4.5; completion 4). */
import type { CurrentDocument, DocumentRecord, Snapshot, StoredNode } from '../../database/contract.ts';
import type { DocId } from '../../documents/contract.ts';
import { writeQuoted } from '../../documents/outgoing.ts';
import { findNode, leavesFrom, winner } from '../../documents/revisions/revision-tree.ts';
import { parseRevId, toRevision } from '../../documents/revisions/revisions.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import { type MaybePromise, whenReady } from '../../shared/maybe-promise.ts';
import type { Answer, Context } from '../request/context.ts';
import type { Query } from '../request/query.ts';
import { withSnapshot } from '../request/snapshot-lease.ts';
import { matchesTag, revisionTag } from '../response/etags.ts';
import { jsonAnswer, notModified, withHeader } from '../response/responses.ts';
import { useLent } from '../routing/resources.ts';
import { documentText, readMetaFlags, revOf } from './document-rendering.ts';

export function getDocument(context: Context, database: string, id: DocId): MaybePromise<Answer> {
  const current = context.query.isEmpty && context.services.registry.peek(database)?.current(id);
  if (current) return answerCurrent(context, id, current);
  const openRevs = context.query.get('open_revs');
  if (openRevs === undefined) return answerOneRevision(context, database, id);
  return useLent(context, ({ answerOpenRevisions }) => answerOpenRevisions(context, database, id, openRevs));
}

/** All that is left to do where neither a query asks for more nor anything has to be waited for: with a snapshot it would take twice as long. */
function answerCurrent(context: Context, id: DocId, { rev, body }: CurrentDocument): Answer {
  const quoted = `"${rev}"`;
  if (matchesTag(context.header('if-none-match'), quoted)) return notModified(quoted);
  const text = writeQuoted(JSON.stringify(id), quoted, { deleted: false, body });
  return withHeader(jsonAnswer(context, 200, text), 'etag', quoted);
}

/** The revision that the query's `rev` names, else the winner. */
export function answerOneRevision(context: Context, database: string, id: DocId): MaybePromise<Answer> {
  return withSnapshot(context, database, (snapshot) => answerRevision(context, snapshot, id));
}

function answerRevision(context: Context, snapshot: Snapshot, id: DocId): MaybePromise<Answer> {
  return whenReady(snapshot.document(id), (record) => answerRecord(context, snapshot, record));
}

function answerRecord(context: Context, snapshot: Snapshot, record: DocumentRecord | undefined): MaybePromise<Answer> {
  const node = nodeToRead(record, context.query.get('rev'), context.query);
  if (record === undefined || node?.body === undefined) throw missing();
  const flags = readMetaFlags(context.query);
  if (flags === undefined) return answerNode(context, snapshot, record, node, '');
  return useLent(context, ({ metaOf }) => answerNode(context, snapshot, record, node, metaOf(record, node, flags)));
}

/** Where it has no members beside its own, the revision stands for what it is. */
function answerNode(
  context: Context,
  snapshot: Snapshot,
  record: DocumentRecord,
  node: StoredNode,
  members: string,
): MaybePromise<Answer> {
  const tag = members === '' ? revisionTag(revOf(node)) : undefined;
  if (tag !== undefined && matchesTag(context.header('if-none-match'), tag)) return notModified(tag);
  return whenReady(snapshot.body(node), (body) => {
    if (body === undefined) throw missing();
    const answer = jsonAnswer(context, 200, documentText(record, node, body, members));
    return tag === undefined ? answer : withHeader(answer, 'etag', tag);
  });
}

/**
 * The revision that was asked for, with the flag `latest` the newest of those that descend from it, else the winner. Fails with
 * `not_found` "deleted" where the winner is a tombstone; a tombstone that was asked for by its revision is read.
 */
export function nodeToRead(
  record: DocumentRecord | undefined,
  rev: string | undefined,
  query?: Query,
): StoredNode | undefined {
  const asked = rev === undefined ? undefined : toRevision(parseRevId(rev));
  if (record === undefined) return undefined;
  if (asked !== undefined) {
    return query?.flag('latest') === true ? winner(leavesFrom(record.leaves, asked)) : findNode(record.leaves, asked);
  }
  const current = winner(record.leaves);
  if (current?.deleted === true) throw new DatabaseError('not_found', 'deleted');
  return current;
}

/** Also for a revision whose body was compacted away. */
export function missing(): DatabaseError {
  return new DatabaseError('not_found', 'missing');
}
