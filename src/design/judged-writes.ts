/** What validation functions are shown of a write: the new document, and the one that it replaces (completion 14). */
import type { DocumentRecord, DocumentWrite, Snapshot, StoredNode, WriteOptions } from '../database/contract.ts';
import type { RevisionPath } from '../documents/contract.ts';
import { isDesignId } from '../documents/identifiers.ts';
import { metaText, writeDocument } from '../documents/outgoing.ts';
import { findNode, pathOf } from '../documents/revisions/revision-tree.ts';
import { toRevId, toRevision } from '../documents/revisions/revisions.ts';
import { DatabaseError } from '../errors/database-error.ts';

/** One write against what is committed now. */
export interface CurrentWrite {
  /** It fails without anyone being asked. */
  readonly refusal: DatabaseError | undefined;
  /** JSON text; undefined where nobody is to be asked. */
  readonly newDocument: string | undefined;
  /** JSON text, `null` without one. */
  readonly oldDocument: string;
}

interface Placed {
  readonly write: DocumentWrite;
  readonly refusal?: DatabaseError;
  /** Undefined: nobody is to be asked. */
  readonly history?: RevisionPath;
  readonly old?: StoredNode | undefined;
}

const NO_HISTORY: RevisionPath = { start: 0, ids: [] };

/**
 * A write whose place is not free now is refused as a conflict even if it became free before the writer got it: nobody
 * would have judged it against what it then replaces.
 */
export async function currentWrites(
  snapshot: Snapshot,
  writes: readonly DocumentWrite[],
  options: WriteOptions,
): Promise<readonly CurrentWrite[]> {
  const place = options.newEdits ? placeEdit : placeReplicated;
  const records = await snapshot.documents(writes.map(({ id }) => id));
  const placed = writes.map((write, index): Placed => {
    return isDesignId(write.id) ? { write } : place(write, records[index], options);
  });
  const oldNodes = placed.flatMap(({ old }) => (old === undefined ? [] : [old]));
  const bodies = await snapshot.bodies(oldNodes);
  let next = 0;
  return placed.map(({ write, refusal, history, old }) => {
    const oldBody = old === undefined ? undefined : bodies[next++];
    const newDocument = history === undefined ? undefined : newDocumentText(write, history);
    return { refusal, newDocument, oldDocument: oldDocumentText(write, old, oldBody) };
  });
}

/** Without a revision a document begins, also over a tombstone: there is nothing that it replaces. */
function placeEdit(write: DocumentWrite, record: DocumentRecord | undefined, { allOrNothing }: WriteOptions): Placed {
  const { rev } = write;
  if (rev === undefined) {
    const isFree = record === undefined || record.leaves[0]?.deleted === true || allOrNothing === true;
    return isFree ? { write, history: NO_HISTORY } : { write, refusal: conflict() };
  }
  const { generation, hash } = toRevision(rev);
  const leaf = record?.leaves.find((node) => node.generation === generation && node.hash === hash);
  if (leaf !== undefined) return { write, history: pathOf(leaf), old: leaf };
  if (allOrNothing !== true) return { write, refusal: conflict() };
  return { write, history: { start: generation, ids: [hash] } };
}

/** A revision that is known changes nothing. Of an unknown one the nearest ancestor counts whose body is kept. */
function placeReplicated(write: DocumentWrite, record: DocumentRecord | undefined): Placed {
  if (write.rev === undefined) return { write };
  const revision = toRevision(write.rev);
  const { start, ids } = write.revisions ?? { start: revision.generation, ids: [revision.hash] };
  const { leaves } = record ?? { leaves: [] };
  if (findNode(leaves, revision) !== undefined) return { write };
  let old: StoredNode | undefined;
  for (let index = 1; index < ids.length && old === undefined; index++) {
    const ancestor = findNode(leaves, { generation: start - index, hash: ids[index] ?? '' });
    if (ancestor?.body !== undefined) old = ancestor;
  }
  return { write, history: { start, ids }, old };
}

function newDocumentText({ id, rev, deleted, body }: DocumentWrite, { start, ids }: RevisionPath): string {
  const revMember = rev === undefined ? '' : `,"_rev":${JSON.stringify(rev)}`;
  const head = `{"_id":${JSON.stringify(id)}${revMember}${deleted ? ',"_deleted":true' : ''}`;
  const revisions = `,"_revisions":{"start":${start},"ids":${JSON.stringify(ids)}}`;
  return body === '{}' ? `${head}${revisions}}` : `${head}${revisions},${body.slice(1)}`;
}

function oldDocumentText({ id }: DocumentWrite, old: StoredNode | undefined, body: string | undefined): string {
  if (old === undefined || body === undefined) return 'null';
  const { generation, hash, deleted } = old;
  const members = metaText({ revisions: pathOf(old) });
  return writeDocument({ id, rev: toRevId(generation, hash), deleted, body, members });
}

function conflict(): DatabaseError {
  return new DatabaseError('conflict', 'Document update conflict.');
}
