/** Reads what a client says of an attachment in a document (docs/http/attachments.md#attachments-in-documents). */
import { DatabaseError } from '../../../base/errors/database-error.ts';
import { isObject, type JsonObject } from '../../../base/json/objects.ts';
import type { IncomingAttachment } from '../contract.ts';
import { readDigest } from './digests.ts';

const SURROGATE = /\p{Surrogate}/u;

export const DEFAULT_CONTENT_TYPE = 'application/octet-stream';

/** Fails with `bad_request` where the entry is none. */
export function parseAttachment(name: string, entry: unknown): IncomingAttachment {
  checkAttachmentName(name);
  if (!isObject(entry)) throw invalid(name, 'it is no object');
  const { content_type: type = DEFAULT_CONTENT_TYPE, encoding, revpos } = entry;
  if (typeof type !== 'string') throw invalid(name, 'its content_type is no text');
  return {
    name,
    contentType: type,
    source: sourceOf(name, entry),
    revpos: Number.isSafeInteger(revpos) ? Number(revpos) : undefined,
    digest: digestOf(entry['digest']),
    length: lengthOf(entry['length']),
    encoding: encoding === 'gzip' ? encoding : undefined,
    encodedLength: lengthOf(entry['encoded_length']),
  };
}

/** Fails with `bad_request`. */
export function checkAttachmentName(name: string): void {
  if (name.startsWith('_')) {
    throw new DatabaseError('bad_request', "Attachment name can't start with '_'");
  }
  if (name === '') throw new DatabaseError('bad_request', 'Attachment name must not be empty');
  if (SURROGATE.test(name)) throw new DatabaseError('bad_request', 'Attachment name is not UTF-8 encoded');
}

/**
 * Fails with `bad_request` on a name that no address can have: clients take `.` and `..` out of a path, also where they are percent-encoded,
 * and ask for something else then. Names that are there already, and replicated ones, are kept.
 */
export function checkAddressable(name: string): void {
  if (name !== '.' && name !== '..') return;
  const reason = `An attachment can't be named "${name}", which no address can end in. Give it another name.`;
  throw new DatabaseError('bad_request', reason);
}

/** What a request brings, or one document has: each takes some kilobytes of memory while it is written, however small it is. */
export const MOST_ATTACHMENTS = 50_000;

export function tooManyAttachments(): DatabaseError {
  const reason = `A request brings at most ${MOST_ATTACHMENTS} attachments, and a document that comes in one has no more; nothing was changed. Send them in several requests, or distribute them over several documents.`;
  return new DatabaseError('too_large', reason);
}

/** Of a document that has a name twice. */
export function duplicateAttachments(): DatabaseError {
  return new DatabaseError('bad_request', 'Duplicate attachments');
}

function sourceOf(name: string, entry: JsonObject): IncomingAttachment['source'] {
  const { stub, follows, data } = entry;
  if (stub === true) return 'stub';
  if (follows === true) return 'follows';
  if (typeof data === 'string') return { data };
  throw invalid(name, 'it has neither data, nor stub, nor follows');
}

/** Empty where it is in another form than ours, and so is no digest that is stored here. */
function digestOf(value: unknown): string | undefined {
  return value === undefined || value === null ? undefined : (readDigest(value) ?? '');
}

function lengthOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function invalid(name: string, why: string): DatabaseError {
  return new DatabaseError('bad_request', `Invalid attachment data for ${name}: ${why}.`);
}
