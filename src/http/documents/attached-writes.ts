/** The attachments of documents that are written: their bytes are stored first, and their stubs resolved (docs/http.md#attachments-in-documents). */
import { type TakenIn, takeIn } from '../../attachments/intake.ts';
import type {
  AttachmentWrite,
  Database,
  DocumentRecord,
  DocumentWrite,
  Snapshot,
  StoredNode,
  WriteOptions,
  WriteOutcome,
} from '../../database/contract.ts';
import { checkAddressable } from '../../documents/attachments/incoming-attachment.ts';
import { splitAttachments } from '../../documents/attachments/stored-attachments.ts';
import type { IncomingAttachment, StoredAttachment } from '../../documents/contract.ts';
import { isLocalId } from '../../documents/identifiers.ts';
import { findNode } from '../../documents/revisions/revision-tree.ts';
import { toRevision } from '../../documents/revisions/revisions.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import { fromBase64 } from '../../shared/base64.ts';
import { inTurns, Pace, someInSteps } from '../../shared/turn.ts';
import type { Context } from '../request/context.ts';

/** A document on its way in, with its attachments as the client named them. */
export interface IncomingWrite extends DocumentWrite {
  readonly incoming?: readonly IncomingAttachment[] | undefined;
  /** What came behind the document, by name. */
  readonly followed?: ReadonlyMap<string, TakenIn> | undefined;
}

export function hasIncoming(write: IncomingWrite): boolean {
  return write.incoming !== undefined && write.incoming.length > 0;
}

/**
 * Writes documents with their attachments. One stub whose bytes are not there fails all with `missing_stub`, and one that can't be read
 * with `bad_request`: nothing is written then.
 */
export async function writeAttached(
  context: Context,
  database: Database,
  writes: readonly IncomingWrite[],
  options: WriteOptions,
): Promise<WriteOutcome[]> {
  if (!(await inTurns(someInSteps(writes, hasIncoming)))) return database.write(writes, options);
  const taken: TakenIn[] = [];
  const snapshot = database.snapshot();
  try {
    const resolved: DocumentWrite[] = [];
    const pace = new Pace();
    for (const { incoming = [], followed, ...write } of writes) {
      const given = { incoming, followed: followed ?? new Map(), newEdits: options.newEdits };
      const attachments = await resolve(context, database, snapshot, write, given, taken);
      resolved.push(attachments.length === 0 ? write : { ...write, attachments });
      if (pace.isDue) await pace.rest();
    }
    return await database.write(resolved, options);
  } finally {
    snapshot.release();
    for (const { discard } of taken) discard();
  }
}

interface Given {
  readonly incoming: readonly IncomingAttachment[];
  readonly followed: ReadonlyMap<string, TakenIn>;
  readonly newEdits: boolean;
}

async function resolve(
  context: Context,
  database: Database,
  snapshot: Snapshot,
  write: DocumentWrite,
  { incoming, followed, newEdits }: Given,
  taken: TakenIn[],
): Promise<readonly AttachmentWrite[]> {
  if (incoming.length === 0) return write.attachments ?? [];
  if (isLocalId(write.id)) throw noLocalAttachments();
  const stubs = incoming.some(({ source }) => source === 'stub')
    ? await attachmentsBefore(snapshot, write, newEdits)
    : [];
  const attachments: AttachmentWrite[] = [...(write.attachments ?? [])];
  for (const one of incoming) {
    if (one.source === 'stub') {
      attachments.push(kept(write, one, { stubs, newEdits }));
      continue;
    }
    const { name, contentType, source } = one;
    // A replicated one is what it is elsewhere.
    if (newEdits) checkAddressable(name);
    const stored = source === 'follows' ? followed.get(name) : await takeInline(context, database, one, source.data);
    if (stored === undefined) throw followsNothing(name);
    if (source !== 'follows') taken.push(stored);
    attachments.push({ name, contentType, revpos: newEdits ? undefined : one.revpos, ...uploadOf(stored) });
  }
  return attachments;
}

function takeInline(
  context: Context,
  database: Database,
  { name, contentType }: IncomingAttachment,
  data: string,
): Promise<TakenIn> {
  const bytes = fromBase64(data);
  if (bytes === undefined) throw new DatabaseError('bad_request', `Invalid attachment data for ${name}`);
  return takeIn(database, context.services, { contentType, encoding: undefined, source: chunksOf(bytes) });
}

export function uploadOf({ upload }: TakenIn): Pick<AttachmentWrite, 'digest' | 'length' | 'upload'> {
  return { digest: upload.stored.digest, length: upload.stored.length, upload };
}

/** An attachment of the revision before that stays as it is. */
export function keptAttachment({ name, contentType, revpos, digest, length }: StoredAttachment): AttachmentWrite {
  return { name, contentType, revpos, digest, length };
}

function kept({ id }: DocumentWrite, claimed: IncomingAttachment, { stubs, newEdits }: Before): AttachmentWrite {
  const { name } = claimed;
  const stored = stubs.find((one) => one.name === name);
  const isMeant = stored !== undefined && (newEdits ? isAsRead(claimed, stored) : isSameContent(claimed, stored));
  if (!isMeant) throw new DatabaseError('missing_stub', `id:${id}, name:${name}`);
  return keptAttachment(stored);
}

interface Before {
  /** The attachments of the revision before. */
  readonly stubs: readonly StoredAttachment[];
  readonly newEdits: boolean;
}

/** A client that edits a document sends back the stubs that it read, or says less: what differs was read of another revision. */
function isAsRead({ revpos, digest }: IncomingAttachment, stored: StoredAttachment): boolean {
  return (revpos ?? stored.revpos) === stored.revpos && (digest ?? stored.digest) === stored.digest;
}

/**
 * Whether the stub of a replicated revision stands for the content that its ancestor has here. The same content has another digest where
 * another server compressed it, and clients of the family count `revpos` in other ways: one of the two has to agree. With an equal `revpos`
 * both name the revision of one path that brought the content; lengths tell of a mistake in that.
 */
function isSameContent({ revpos, digest, length }: IncomingAttachment, stored: StoredAttachment): boolean {
  if (length !== undefined && length !== stored.length) return false;
  if (digest === stored.digest || revpos === stored.revpos) return true;
  return digest === undefined && revpos === undefined;
}

/** The attachments of the revision that the write replaces; of a replicated one, of its nearest ancestor that is kept. */
async function attachmentsBefore(
  snapshot: Snapshot,
  write: DocumentWrite,
  newEdits: boolean,
): Promise<readonly StoredAttachment[]> {
  const record = await snapshot.document(write.id);
  const node = record === undefined ? undefined : nodeBefore(record, write, newEdits);
  const body = node === undefined ? undefined : await snapshot.body(node);
  return body === undefined ? [] : splitAttachments(body).attachments;
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
  const reason = `Attachment ${name} is to follow, but nothing follows a document that is sent as application/json.`;
  return new DatabaseError('bad_request', reason);
}
