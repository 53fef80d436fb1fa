/** The documents that validation functions get for a write: the new one, and the one that it replaces (docs/http/functions.md#validation-functions). */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { type CooperativeTask, mapInSteps, runCooperatively, TimeSlice } from '../../base/shared/turn.ts';
import type { RevisionPath } from '../../database/documents/contract.ts';
import { withoutDeepMembers } from '../../database/documents/deep-members.ts';
import { isDesignId } from '../../database/documents/identifiers.ts';
import { metaText, writeDocument } from '../../database/documents/outgoing.ts';
import { findNode, pathOf } from '../../database/documents/revisions/revision-tree.ts';
import { toRevId, toRevision } from '../../database/documents/revisions/revisions.ts';
import { joinAttachments } from '../../database/documents/stored-attachments.ts';
import type {
  DocumentRecord,
  DocumentWrite,
  Snapshot,
  StoredNode,
  WriteOptions,
} from '../../database/store/contract.ts';

/** The input of the validation functions for one write. */
export interface ValidationInput {
  /** Why the write is refused without being validated. */
  readonly refusal: DatabaseError | undefined;
  /** JSON text; undefined if the write is not validated. */
  readonly newDocument: string | undefined;
  /** JSON text; `null` if the write replaces no document. */
  readonly oldDocument: string;
}

/** A write with the revision that it replaces. */
interface ResolvedWrite {
  readonly write: DocumentWrite;
  readonly refusal?: DatabaseError;
  /** The ancestry of the new revision; undefined if the write is not validated. */
  readonly history?: RevisionPath;
  readonly old?: StoredNode | undefined;
}

const NO_HISTORY: RevisionPath = { start: 0, ids: [] };

/**
 * Finds the revisions that writes replace in the snapshot. A write that conflicts in the snapshot is refused, even if the
 * conflict might be gone when the writer handles it, because it is not validated against the revision that it would replace then.
 */
export async function validationInputs(
  snapshot: Snapshot,
  writes: readonly DocumentWrite[],
  options: WriteOptions,
): Promise<readonly ValidationInput[]> {
  const resolve = options.newEdits ? resolveEdit : resolveReplicated;
  const records = await snapshot.documents(writes.map(({ id }) => id));
  let refusal: DatabaseError | undefined;
  // One error for all of them: it takes a kilobyte, and a request may have a hundred thousand writes in conflict.
  const refuse = () => {
    refusal ??= conflict();
    return refusal;
  };
  const resolveOne = (write: DocumentWrite, index: number): ResolvedWrite =>
    isDesignId(write.id) ? { write } : resolve(write, records[index], options, refuse);
  const resolved = await runCooperatively(mapInSteps(writes, resolveOne));
  const oldNodes = resolved.flatMap(({ old }) => (old === undefined ? [] : [old]));
  const bodies = await snapshot.bodies(oldNodes);
  const inputs: ValidationInput[] = [];
  const timeSlice = new TimeSlice();
  let next = 0;
  for (const { write, refusal, history, old } of resolved) {
    const oldBody = old === undefined ? undefined : bodies[next++];
    const newDocument = history === undefined ? undefined : await runCooperatively(newDocumentText(write, history));
    if (timeSlice.isDue) await timeSlice.rest();
    inputs.push({ refusal, newDocument, oldDocument: oldDocumentText(write, old, oldBody) });
  }
  return inputs;
}

/** Resolves an edit. A write without a revision replaces no document, even if there is a deleted one. */
function resolveEdit(
  write: DocumentWrite,
  record: DocumentRecord | undefined,
  { allOrNothing }: WriteOptions,
  refuse: () => DatabaseError,
): ResolvedWrite {
  const { rev } = write;
  if (rev === undefined) {
    const isFree = record === undefined || record.leaves[0]?.deleted === true || allOrNothing === true;
    return isFree ? { write, history: NO_HISTORY } : { write, refusal: refuse() };
  }
  const { generation, hash } = toRevision(rev);
  const leaf = record?.leaves.find((node) => node.generation === generation && node.hash === hash);
  if (leaf !== undefined) return { write, history: pathOf(leaf), old: leaf };
  if (allOrNothing !== true) return { write, refusal: refuse() };
  return { write, history: { start: generation, ids: [hash] } };
}

/**
 * Resolves a replicated write. A revision that the database already has changes nothing, so it is not validated. Any other
 * replaces its nearest ancestor whose body is stored.
 */
function resolveReplicated(write: DocumentWrite, record: DocumentRecord | undefined): ResolvedWrite {
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

/** Returns the text with stubs of its attachments: new ones have the generation that the revision will have. */
function* newDocumentText(write: DocumentWrite, { start, ids }: RevisionPath): CooperativeTask<string> {
  const { id, rev, deleted, attachments = [] } = write;
  const stubs = yield* mapInSteps(attachments, (one) => ({ ...one, revpos: one.revpos ?? start + 1 }));
  const body = yield* joinAttachments(write.body, stubs);
  const revMember = rev === undefined ? '' : `,"_rev":${JSON.stringify(rev)}`;
  const identity = `{"_id":${JSON.stringify(id)}${revMember}${deleted ? ',"_deleted":true' : ''}`;
  const revisions = `,"_revisions":{"start":${start},"ids":${JSON.stringify(ids)}}`;
  return body === '{}' ? `${identity}${revisions}}` : `${identity}${revisions},${body.slice(1)}`;
}

function oldDocumentText({ id }: DocumentWrite, old: StoredNode | undefined, body: string | undefined): string {
  if (old === undefined || body === undefined) return 'null';
  const { generation, hash, deleted } = old;
  const members = metaText({ revisions: pathOf(old) });
  return writeDocument({ id, rev: toRevId(generation, hash), deleted, body: withoutDeepMembers(body), members });
}

function conflict(): DatabaseError {
  return new DatabaseError('conflict', 'Document update conflict.');
}
