/** Attachments of documents that are written: stores their bytes, then resolves stubs (docs/http/attachments.md#attachments-in-documents). */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { fromBase64 } from '../../base/shared/bytes.ts';
import { eachInSteps, mapInSteps, runCooperatively, someInSteps, TimeSlice } from '../../base/shared/turn.ts';
import { type StoredUpload, takeIn } from '../../database/attachments/intake.ts';
import type { IncomingAttachment, StoredAttachment } from '../../database/documents/contract.ts';
import { isLocalId } from '../../database/documents/identifiers.ts';
import { checkAddressable } from '../../database/documents/incoming/incoming-attachment.ts';
import { findNode } from '../../database/documents/revisions/revision-tree.ts';
import { toRevision } from '../../database/documents/revisions/revisions.ts';
import { splitAttachments } from '../../database/documents/stored-attachments.ts';
import type {
  AttachmentWrite,
  Database,
  DocumentRecord,
  DocumentWrite,
  Snapshot,
  StoredNode,
  WriteOptions,
  WriteOutcome,
} from '../../database/store/contract.ts';
import { holdAttachments } from '../request/body-memory.ts';
import type { Context } from '../request/context.ts';

/** A document to be written, with its attachments as the client named them. */
export interface IncomingWrite extends DocumentWrite {
  readonly incoming?: readonly IncomingAttachment[] | undefined;
  /** The attachments that came after the document, by name. */
  readonly followed?: ReadonlyMap<string, StoredUpload> | undefined;
}

export function hasIncoming(write: IncomingWrite): boolean {
  return write.incoming !== undefined && write.incoming.length > 0;
}

/**
 * Writes documents with their attachments. A stub whose bytes are missing makes all of them fail with `missing_stub`, and an unreadable one
 * with `bad_request`: nothing is written then.
 */
export async function writeAttached(
  context: Context,
  database: Database,
  writes: readonly IncomingWrite[],
  options: WriteOptions,
): Promise<WriteOutcome[]> {
  if (!(await runCooperatively(someInSteps(writes, hasIncoming)))) return database.write(writes, options);
  const taken: StoredUpload[] = [];
  const snapshot = database.snapshot();
  try {
    const resolved: DocumentWrite[] = [];
    const timeSlice = new TimeSlice();
    for (const { incoming = [], followed, ...write } of writes) {
      const given = { incoming, followed: followed ?? new Map(), newEdits: options.newEdits };
      const attachments = await resolve(context, database, snapshot, write, given, taken);
      resolved.push(attachments.length === 0 ? write : { ...write, attachments });
      if (timeSlice.isDue) await timeSlice.rest();
    }
    return await database.write(resolved, options);
  } finally {
    snapshot.release();
    await runCooperatively(eachInSteps(taken, ({ discard }) => discard()));
  }
}

const NO_STUBS: ReadonlyMap<string, StoredAttachment> = new Map();

interface Given {
  readonly incoming: readonly IncomingAttachment[];
  readonly followed: ReadonlyMap<string, StoredUpload>;
  readonly newEdits: boolean;
}

async function resolve(
  context: Context,
  database: Database,
  snapshot: Snapshot,
  write: DocumentWrite,
  { incoming, followed, newEdits }: Given,
  taken: StoredUpload[],
): Promise<readonly AttachmentWrite[]> {
  if (incoming.length === 0) return write.attachments ?? [];
  if (isLocalId(write.id)) throw noLocalAttachments();
  const stubs = incoming.some(({ source }) => source === 'stub')
    ? await attachmentsBefore(snapshot, write, newEdits)
    : NO_STUBS;
  // Attachments that need no bytes are checked before any are stored.
  const keptOnes = await runCooperatively(mapInSteps(incoming, (one) => keptOf(write, one, { stubs, newEdits })));
  const inline = await takeInline(context, database, incoming, taken);
  const given = mapInSteps(incoming, (one, index) => {
    const stored = one.source === 'follows' ? followed.get(one.name) : inline[index];
    return keptOnes[index] ?? attachmentWrite(one, stored, newEdits);
  });
  return [...(write.attachments ?? []), ...(await runCooperatively(given))];
}

function attachmentWrite(
  { name, contentType, revpos }: IncomingAttachment,
  stored: StoredUpload | undefined,
  newEdits: boolean,
): AttachmentWrite {
  if (stored === undefined) throw followsNothing(name);
  return { name, contentType, revpos: newEdits ? undefined : revpos, ...uploadOf(stored) };
}

/** Attachments, and characters of their Base64, that are stored together: small ones share the commits of their pages. */
const GROUP_COUNT = 64;
const GROUP_LENGTH = 262_144;

/** Stores the attachments whose content is in the document; the others stay undefined. `taken` gets all that were stored, even if one fails. */
async function takeInline(
  context: Context,
  database: Database,
  incoming: readonly IncomingAttachment[],
  taken: StoredUpload[],
): Promise<readonly (StoredUpload | undefined)[]> {
  const all: (StoredUpload | undefined)[] = [];
  const timeSlice = new TimeSlice();
  for (const group of groupsOf(incoming)) {
    if (timeSlice.isDue) await timeSlice.rest();
    await holdAttachments(context, taken.length, group.filter(({ source }) => typeof source !== 'string').length);
    const outcomes = await Promise.allSettled(group.map((one) => takeOne(context, database, one)));
    for (const outcome of outcomes) if (outcome.status === 'fulfilled' && outcome.value) taken.push(outcome.value);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') throw outcome.reason;
      all.push(outcome.value);
    }
  }
  return all;
}

function* groupsOf(incoming: readonly IncomingAttachment[]): Generator<readonly IncomingAttachment[]> {
  let group: IncomingAttachment[] = [];
  let length = 0;
  for (const one of incoming) {
    group.push(one);
    length += typeof one.source === 'string' ? 0 : one.source.data.length;
    if (group.length < GROUP_COUNT && length < GROUP_LENGTH) continue;
    yield group;
    [group, length] = [[], 0];
  }
  if (group.length > 0) yield group;
}

/** Returns undefined for an attachment whose content is elsewhere. */
async function takeOne(
  context: Context,
  database: Database,
  { name, contentType, source }: IncomingAttachment,
): Promise<StoredUpload | undefined> {
  if (typeof source === 'string') return undefined;
  const bytes = fromBase64(source.data);
  if (bytes === undefined) throw new DatabaseError('bad_request', `Invalid attachment data for ${name}`);
  return takeIn(database, context.services, { contentType, encoding: undefined, source: chunksOf(bytes) });
}

export function uploadOf({ upload }: StoredUpload): Pick<AttachmentWrite, 'digest' | 'length' | 'upload'> {
  return { digest: upload.stored.digest, length: upload.stored.length, upload };
}

/** Keeps an attachment of the previous revision as it is. */
export function keptAttachment({ name, contentType, revpos, digest, length }: StoredAttachment): AttachmentWrite {
  return { name, contentType, revpos, digest, length };
}

/** Returns undefined for an attachment that comes with its content. */
function keptOf(
  { id }: DocumentWrite,
  claimed: IncomingAttachment,
  { stubs, newEdits }: Before,
): AttachmentWrite | undefined {
  const { name, source } = claimed;
  if (source !== 'stub') {
    // A replicated one keeps the name that it has elsewhere.
    if (newEdits) checkAddressable(name);
    return undefined;
  }
  const stored = stubs.get(name);
  const isMeant = stored !== undefined && (newEdits ? isAsRead(claimed, stored) : isSameContent(claimed, stored));
  if (!isMeant) throw new DatabaseError('missing_stub', `id:${id}, name:${name}`);
  return keptAttachment(stored);
}

interface Before {
  /** The attachments of the previous revision, by name. */
  readonly stubs: ReadonlyMap<string, StoredAttachment>;
  readonly newEdits: boolean;
}

/** A client that edits a document sends back the stubs that it read, or parts of them. A stub that differs was read from another revision. */
function isAsRead({ revpos, digest }: IncomingAttachment, stored: StoredAttachment): boolean {
  return (revpos ?? stored.revpos) === stored.revpos && (digest ?? stored.digest) === stored.digest;
}

/**
 * Whether the stub of a replicated revision means the content that its ancestor has here. The same content has another digest if another
 * server compressed it, and clients of the family count `revpos` differently: one of the two has to agree. With an equal `revpos`
 * both name the revision of one path that brought the content; different lengths reveal a mistake in that.
 */
function isSameContent({ revpos, digest, length }: IncomingAttachment, stored: StoredAttachment): boolean {
  if (length !== undefined && length !== stored.length) return false;
  if (digest === stored.digest || revpos === stored.revpos) return true;
  return digest === undefined && revpos === undefined;
}

/** Finds the attachments of the revision that the write replaces; for a replicated one, those of its nearest ancestor that is kept. */
async function attachmentsBefore(
  snapshot: Snapshot,
  write: DocumentWrite,
  newEdits: boolean,
): Promise<ReadonlyMap<string, StoredAttachment>> {
  const record = await snapshot.document(write.id);
  const node = record === undefined ? undefined : nodeBefore(record, write, newEdits);
  const body = node === undefined ? undefined : await snapshot.body(node);
  const attachments = body === undefined ? [] : (await runCooperatively(splitAttachments(body))).attachments;
  return new Map(attachments.map((one) => [one.name, one]));
}

function nodeBefore(
  record: DocumentRecord,
  { rev, revisions }: DocumentWrite,
  newEdits: boolean,
): StoredNode | undefined {
  if (newEdits) return rev === undefined ? record.leaves[0] : findNode(record.leaves, toRevision(rev));
  const path = revisions ?? (rev === undefined ? undefined : pathOfOne(rev));
  for (const [index, hash] of path?.ids.entries() ?? []) {
    const node = findNode(record.leaves, { generation: (path?.start ?? 0) - index, hash });
    if (node?.body !== undefined) return node;
  }
  return undefined;
}

function pathOfOne(rev: Parameters<typeof toRevision>[0]): { start: number; ids: readonly string[] } {
  const { generation, hash } = toRevision(rev);
  return { start: generation, ids: [hash] };
}

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

export function noLocalAttachments(): DatabaseError {
  return new DatabaseError('bad_request', '_local documents do not accept attachments.');
}

function followsNothing(name: string): DatabaseError {
  const reason = `Attachment ${name} should follow the document, but nothing follows a document that is sent as application/json.`;
  return new DatabaseError('bad_request', reason);
}
