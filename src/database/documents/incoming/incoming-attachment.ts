/** Reads a client's description of an attachment in a document (docs/http/attachments.md#attachments-in-documents). */
import { DatabaseError } from '../../../base/errors/database-error.ts';
import { isObject, type JsonObject } from '../../../base/json/objects.ts';
import { hasLoneSurrogate } from '../../../base/json/portable-values.ts';
import type { IncomingAttachment } from '../contract.ts';
import { readDigest } from '../stored-attachments.ts';

export const DEFAULT_CONTENT_TYPE = 'application/octet-stream';

/** Reads a client's entry of an attachment. Fails with `bad_request` if it is invalid. */
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

/** Checks the name. Fails with `bad_request`. */
export function checkAttachmentName(name: string): void {
  if (name.startsWith('_')) {
    throw new DatabaseError('bad_request', "Attachment name can't start with '_'");
  }
  if (name === '') throw new DatabaseError('bad_request', 'Attachment name must not be empty');
  if (hasLoneSurrogate(name)) throw new DatabaseError('bad_request', 'Attachment name is not UTF-8 encoded');
}

/**
 * Fails with `bad_request` on a name that no URL can have: clients remove `.` and `..` from a path, even if they are percent-encoded,
 * and then request something else. Existing names, and replicated ones, are kept.
 */
export function checkAddressable(name: string): void {
  if (name !== '.' && name !== '..') return;
  const reason = `An attachment can't be named "${name}", since no URL can end in it. Give it another name.`;
  throw new DatabaseError('bad_request', reason);
}

/** The maximum for one request, or one document: each takes some kilobytes of memory while it is written, however small it is. */
export const MAX_ATTACHMENTS = 50_000;

export function tooManyAttachments(): DatabaseError {
  const reason = `A request or a document can have at most ${MAX_ATTACHMENTS} attachments; nothing was changed. Send them in several requests, or distribute them over several documents.`;
  return new DatabaseError('too_large', reason);
}

/** Returns the error for a document that has a name twice. */
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

/** Returns the digest; empty if it has an unknown form, so that it equals no stored digest. */
function digestOf(value: unknown): string | undefined {
  return value === undefined || value === null ? undefined : (readDigest(value) ?? '');
}

function lengthOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function invalid(name: string, why: string): DatabaseError {
  return new DatabaseError('bad_request', `Invalid attachment data for ${name}: ${why}.`);
}
