/** Attachments in the stored text of a body: the member `_attachments`, and the digests in it. */
import { DatabaseError } from '../../base/errors/database-error.ts';
import { JsonCursor } from '../../base/json/json-cursor.ts';
import { type CooperativeTask, joinInSteps } from '../../base/shared/turn.ts';
import type { StoredAttachment } from './contract.ts';

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
