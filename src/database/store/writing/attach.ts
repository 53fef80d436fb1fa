import { DatabaseError } from '../../../base/errors/database-error.ts';
import { type CooperativeTask, eachInSteps } from '../../../base/shared/turn.ts';
import type { StoredAttachment } from '../../documents/contract.ts';
import { joinAttachments } from '../../documents/stored-attachments.ts';
import type { AttachmentWrite, DocumentWrite, StoredBytes } from '../contract.ts';
import type { WriteBatch } from './write-batch.ts';

/** What a document's attachments add to its revision. */
interface Attached {
  /** The part that goes into the revision's hash: digests of the bytes without their encoding, since compressors differ. */
  readonly hashed: readonly { readonly name: string; readonly type: string; readonly digest: string }[] | undefined;
  /** Each digest once; undefined if there are no attachments. */
  readonly digests: readonly string[] | undefined;
  /** The body as it is stored. */
  readonly text: string;
}

/** Returns what a revision without attachments adds. */
export function attachNothing({ body }: DocumentWrite): Attached {
  return { hashed: undefined, digests: undefined, text: body };
}

/** Takes the attachments of a revision of that generation into the batch. Returns `missing_stub` if bytes do not exist. */
export function* attach(
  batch: WriteBatch,
  write: DocumentWrite,
  generation: number,
): CooperativeTask<Attached | DatabaseError> {
  const { attachments = [], body } = write;
  if (attachments.length === 0) return attachNothing(write);
  const stored: StoredAttachment[] = [];
  const hashed: { name: string; type: string; digest: string }[] = [];
  let missing: AttachmentWrite | undefined;
  yield* eachInSteps(attachments, (attachment) => {
    const bytes = bytesOf(batch, attachment);
    if (bytes === undefined) {
      missing ??= attachment;
      return;
    }
    const { name, contentType, digest, revpos = generation } = attachment;
    stored.push({ name, contentType, revpos, digest, length: bytes.length });
    hashed.push({ name, type: contentType, digest: bytes.plainDigest ?? digest });
  });
  if (missing !== undefined) return missingStub(write, missing);
  const digests = [...new Set(stored.map(({ digest }) => digest))];
  return { hashed, digests, text: yield* joinAttachments(body, stored) };
}

function bytesOf({ attachments }: WriteBatch, attachment: AttachmentWrite): StoredBytes | undefined {
  const { upload } = attachment;
  if (upload !== undefined) attachments.adopt(upload);
  return attachments.stored(upload?.stored ?? attachment);
}

function missingStub({ id }: DocumentWrite, { name }: AttachmentWrite): DatabaseError {
  return new DatabaseError('missing_stub', `id:${id}, name:${name}`);
}
