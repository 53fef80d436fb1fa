/**
 * The members of a document that begin with `_` (docs/http/documents.md#document-members): which of them exist, and which values they may have.
 * The service reads them; it refuses all other names that begin with `_`.
 */
import { DatabaseError, isDatabaseError } from '../../../base/errors/database-error.ts';
import { isObject } from '../../../base/json/objects.ts';
import { atOnce, type CooperativeTask, mapInSteps } from '../../../base/shared/turn.ts';
import type { BadRev, DocId, IncomingAttachment, IncomingDocument, RevId, RevisionPath } from '../contract.ts';
import { isLocalId, parseDocId } from '../identifiers.ts';
import { checkHash, isLocalRev, parseRevId, toRevId } from '../revisions/revisions.ts';
import { duplicateAttachments, MAX_ATTACHMENTS, parseAttachment, tooManyAttachments } from './incoming-attachment.ts';

/** What happens to a reserved member: its value is read, it is left out, or it stays in the body. */
type ReservedUse = 'read' | 'dropped' | 'kept';

const RESERVED: ReadonlyMap<string, ReservedUse> = new Map([
  ['_id', 'read'],
  ['_rev', 'read'],
  ['_deleted', 'read'],
  ['_attachments', 'read'],
  ['_revisions', 'read'],
  ['_revs_info', 'dropped'],
  ['_conflicts', 'dropped'],
  ['_deleted_conflicts', 'dropped'],
  ['_local_seq', 'dropped'],
  ['_replication_state', 'kept'],
  ['_replication_state_time', 'kept'],
  ['_replication_state_reason', 'kept'],
  ['_replication_id', 'kept'],
  ['_replication_stats', 'kept'],
  // The service does not read it: who may read a document depends on its database.
  ['_access', 'kept'],
]);

const NONE: readonly IncomingAttachment[] = [];

/** The values of the members that are read; undefined if there is no such member. */
export interface ReservedValues {
  readonly id: unknown;
  readonly rev: unknown;
  readonly deleted: unknown;
  readonly revisions: unknown;
  readonly attachments: unknown;
  /** The names of the attachments as they were written, repeated as often as they occur. */
  readonly attachmentNames?: readonly string[] | undefined;
}

/** Whether a member of this name, which begins with `_`, stays in the body. Fails with `doc_validation` if the name is unknown. */
export function staysInBody(name: string): boolean {
  const use = RESERVED.get(name);
  if (use === undefined) throw badMember(name);
  return use === 'kept';
}

/**
 * Returns the document with that body. Errors are those of `readDocument`, except that a `_rev` that is not a revision becomes `badRev`: in a
 * bulk request it affects its document alone.
 */
export function toIncomingDocument(values: ReservedValues, body: string): IncomingDocument {
  const { id, rev, deleted, revisions, attachments, attachmentNames } = values;
  const checkedId = id === undefined ? undefined : parseDocId(id);
  const path = revisions === undefined ? undefined : parseRevisions(revisions);
  const found = findRev(rev, checkedId, path);
  const isBad = typeof found === 'object';
  return {
    id: checkedId,
    rev: isBad ? undefined : found,
    badRev: isBad ? found : undefined,
    deleted: deleted === undefined ? false : parseDeleted(deleted),
    revisions: path,
    attachments: attachments === undefined ? NONE : atOnce(parseAttachments(attachments, attachmentNames)),
    body,
  };
}

/** Like `toIncomingDocument`, but lets other tasks run between many attachments. */
export function* toIncomingDocumentInSteps(values: ReservedValues, body: string): CooperativeTask<IncomingDocument> {
  const { attachments, attachmentNames } = values;
  const document = toIncomingDocument({ ...values, attachments: undefined }, body);
  if (attachments === undefined) return document;
  return { ...document, attachments: yield* parseAttachments(attachments, attachmentNames) };
}

function findRev(value: unknown, id: DocId | undefined, path: RevisionPath | undefined): RevId | BadRev | undefined {
  try {
    return parseRev(value, id, path);
  } catch (error) {
    if (!isDatabaseError(error)) throw error;
    return { text: typeof value === 'string' ? value : JSON.stringify(value), error };
  }
}

/**
 * Returns the revision that the document names: the newest of `_revisions`, which takes precedence over a different `_rev`, or `_rev`.
 * A local document's `0-<n>` is accepted if the id may be a local one.
 */
function parseRev(value: unknown, id: DocId | undefined, revisions: RevisionPath | undefined): RevId | undefined {
  const newest = revisions?.ids[0];
  const pathRev = revisions === undefined || newest === undefined ? undefined : toRevId(revisions.start, newest);
  if (value === undefined) return pathRev;
  const mayBeLocal = id === undefined || isLocalId(id);
  const rev = mayBeLocal && typeof value === 'string' && isLocalRev(value) ? value : parseRevId(value);
  return pathRev ?? rev;
}

/** Returns the path; undefined if it is empty or a local document's (generation 0), which has no history. */
function parseRevisions(value: unknown): RevisionPath | undefined {
  if (!isObject(value)) throw badMember('_revisions');
  const { start, ids } = value;
  if (typeof start !== 'number' || !Number.isSafeInteger(start)) {
    throw new DatabaseError('doc_validation', "_revisions.start isn't an integer.");
  }
  if (!Array.isArray(ids)) throw new DatabaseError('doc_validation', "_revisions.ids isn't a array.");
  const hashes = ids.map(parseHash);
  if (start === 0 || hashes.length === 0) return undefined;
  if (start < hashes.length) {
    throw new DatabaseError('doc_validation', `_revisions.start is ${start}, but _revisions.ids has ${hashes.length}`);
  }
  return { start, ids: hashes };
}

function parseHash(value: unknown): string {
  if (typeof value !== 'string') throw new DatabaseError('doc_validation', "RevId isn't a string");
  checkHash(value);
  return value;
}

function parseDeleted(value: unknown): boolean {
  if (typeof value !== 'boolean') throw badMember('_deleted');
  return value;
}

/** Returns the attachments in the order in which they were written: the order in which `follows` attachments arrive. */
function* parseAttachments(
  value: unknown,
  written: readonly string[] | undefined,
): CooperativeTask<readonly IncomingAttachment[]> {
  if (!isObject(value)) throw badMember('_attachments');
  const names = written ?? Object.keys(value);
  if (names.length > MAX_ATTACHMENTS) throw tooManyAttachments();
  if (new Set(names).size < names.length) throw duplicateAttachments();
  return yield* mapInSteps(names, (name) => parseAttachment(name, value[name]));
}

function badMember(name: string): DatabaseError {
  return new DatabaseError('doc_validation', `Bad special document member: ${name}`);
}
