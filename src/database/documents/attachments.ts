/** The member `_attachments` of documents, as clients write it, and in the stored text of a body (docs/http/attachments.md#attachments-in-documents). */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { JsonCursor } from '../../base/json/json-cursor.ts';
import { isObject, type JsonObject } from '../../base/json/objects.ts';
import { hasLoneSurrogate } from '../../base/json/portable-values.ts';
import { type CooperativeTask, joinInSteps } from '../../base/shared/turn.ts';
import type { IncomingAttachment, StoredAttachment } from './contract.ts';

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
  const reason = `An attachment can't be named "${name}", which no address can end in. Give it another name.`;
  throw new DatabaseError('bad_request', reason);
}

/** The maximum for one request, or one document: each takes some kilobytes of memory while it is written, however small it is. */
export const MOST_ATTACHMENTS = 50_000;

export function tooManyAttachments(): DatabaseError {
  const reason = `A request brings at most ${MOST_ATTACHMENTS} attachments, and a document that comes in one has no more; nothing was changed. Send them in several requests, or distribute them over several documents.`;
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

/** Digests are 32 hexadecimal digits inside, `md5-` and Base64 in documents. */
const DIGEST_PREFIX = 'md5-';
const BASE64_MD5 = /^[A-Za-z0-9+/]{22}==$/;

/** Returns the digest in the form that documents use. */
export function writeDigest(hex: string): string {
  return DIGEST_PREFIX + hexToBase64(hex);
}

/** Returns the 32 hexadecimal digits; undefined if the text is not a digest of that form. */
export function readDigest(text: unknown): string | undefined {
  return typeof text === 'string' && text.startsWith(DIGEST_PREFIX)
    ? base64ToHex(text.slice(DIGEST_PREFIX.length))
    : undefined;
}

/** Returns the 32 hexadecimal digits of a `Content-MD5`; undefined if absent. Fails with `content_md5_mismatch` if the value is no MD5. */
export function readContentMd5(header: string | undefined): string | undefined {
  const text = header?.trim();
  if (text === undefined || text === '') return undefined;
  const digest = base64ToHex(text);
  if (digest === undefined) throw contentMd5Mismatch();
  return digest;
}

export function contentMd5Mismatch(): DatabaseError {
  return new DatabaseError('content_md5_mismatch', 'Possible message corruption.');
}

/** Returns the digest in the form of `Content-MD5` (RFC 1864). */
export function hexToBase64(hex: string): string {
  let bytes = '';
  for (let at = 0; at < hex.length; at += 2) bytes += String.fromCharCode(Number.parseInt(hex.slice(at, at + 2), 16));
  return btoa(bytes);
}

/** Returns the hexadecimal digits; undefined if the text is not the Base64 form of an MD5. */
function base64ToHex(base64: string): string | undefined {
  if (!BASE64_MD5.test(base64)) return undefined;
  const bytes = atob(base64);
  let hex = '';
  for (let at = 0; at < bytes.length; at++) hex += bytes.charCodeAt(at).toString(16).padStart(2, '0');
  return hex;
}

/** A stored body has the attachments first, with a stub for each: so it can be shown, mapped and searched with its stubs without a lookup. */
const START = '{"_attachments":';

/** Whether the stored body has attachments. */
export function hasAttachments(body: string): boolean {
  return body.startsWith(START);
}

/**
 * Returns the stored form of a body without members that begin with `_`, and of its attachments. Lets other tasks run between many of them.
 */
export function* joinAttachments(body: string, attachments: readonly StoredAttachment[]): CooperativeTask<string> {
  if (attachments.length === 0) return body;
  const stubs = yield* joinInSteps(attachments, writeMember);
  const rest = body === '{}' ? '}' : `,${body.slice(1)}`;
  return `${START}{${stubs}}${rest}`;
}

function writeMember(attachment: StoredAttachment): string {
  return `${JSON.stringify(attachment.name)}:${writeStub(attachment)}`;
}

/** Returns the parts of a stored body: its attachments, and the body without them. Lets other tasks run between many of them. */
export function* splitAttachments(stored: string): CooperativeTask<{
  readonly attachments: readonly StoredAttachment[];
  readonly body: string;
}> {
  if (!hasAttachments(stored)) return { attachments: [], body: stored };
  const { attachments, rest } = yield* readAttachments(stored);
  return { attachments, body: rest === '}' ? '{}' : `{${rest.slice(1)}` };
}

/** Attachments that are read between two checks of the clock. */
const PER_STEP = 256;

/**
 * Reads the attachments of a stored body that has some, and the text after that member: a closing brace, or further members. That text is a
 * slice of the stored text, so nothing is copied. Lets other tasks run between many attachments.
 */
export function* readAttachments(stored: string): CooperativeTask<{
  readonly attachments: readonly StoredAttachment[];
  readonly rest: string;
}> {
  const cursor = new JsonCursor(stored, START.length);
  const attachments: StoredAttachment[] = [];
  cursor.enter();
  while (cursor.nextMember()) {
    attachments.push(readStub(cursor.name, Object(JSON.parse(cursor.valueText))));
    if (attachments.length % PER_STEP === 0) yield;
  }
  return { attachments, rest: stored.slice(cursor.position) };
}

function writeStub({ contentType, revpos, digest, length }: StoredAttachment): string {
  const type = JSON.stringify(contentType);
  return `{"content_type":${type},"revpos":${revpos},"digest":"${writeDigest(digest)}","length":${length},"stub":true}`;
}

/** Reads a stub without checking it: it is what `writeStub` wrote. */
function readStub(name: string, stub: Readonly<Record<string, unknown>>): StoredAttachment {
  return {
    name,
    contentType: String(stub['content_type']),
    revpos: Number(stub['revpos']),
    digest: readDigest(stub['digest']) ?? '',
    length: Number(stub['length']),
  };
}
