/**
 * Attachments in the stored text of a body: the member `_attachments`, which stands first in it, with a stub for each. So a document is
 * shown, mapped and searched with its stubs without anything being looked up.
 */
import { JsonCursor } from '../../json/json-cursor.ts';
import { joinInSteps, type Steps } from '../../shared/turn.ts';
import type { StoredAttachment } from '../contract.ts';
import { readDigest, writeDigest } from './digests.ts';

const START = '{"_attachments":';

/** Whether the stored body has attachments. */
export function hasAttachments(body: string): boolean {
  return body.startsWith(START);
}

/** The stored form of a body without members that begin with `_`, and of its attachments. */
export function joinAttachments(body: string, attachments: readonly StoredAttachment[]): string {
  return attachments.length === 0 ? body : withStubs(body, attachments.map(writeMember).join(','));
}

/** As `joinAttachments`: others may have a turn between many of them. */
export function* joinAttachmentsInSteps(body: string, attachments: readonly StoredAttachment[]): Steps<string> {
  return attachments.length === 0 ? body : withStubs(body, yield* joinInSteps(attachments, writeMember));
}

function withStubs(body: string, stubs: string): string {
  const rest = body === '{}' ? '}' : `,${body.slice(1)}`;
  return `${START}{${stubs}}${rest}`;
}

function writeMember(attachment: StoredAttachment): string {
  return `${JSON.stringify(attachment.name)}:${writeStub(attachment)}`;
}

/** The parts of a stored body: its attachments, and the body without them. */
export function splitAttachments(stored: string): {
  readonly attachments: readonly StoredAttachment[];
  readonly body: string;
} {
  if (!hasAttachments(stored)) return { attachments: [], body: stored };
  const { attachments, rest } = readAttachments(stored);
  return { attachments, body: rest === '}' ? '{}' : `{${rest.slice(1)}` };
}

/**
 * The attachments of a stored body that has some, and the text behind the member with them: a closing brace, or further members. That is a
 * part of the same text, so that none of it is copied.
 */
export function readAttachments(stored: string): {
  readonly attachments: readonly StoredAttachment[];
  readonly rest: string;
} {
  const cursor = new JsonCursor(stored);
  cursor.enter();
  cursor.nextMember();
  const end = cursor.valueEnd;
  const stubs: unknown = JSON.parse(stored.slice(START.length, end));
  const attachments = Object.entries(Object(stubs)).map(([name, stub]) => readStub(name, Object(stub)));
  return { attachments, rest: stored.slice(end) };
}

function writeStub({ contentType, revpos, digest, length }: StoredAttachment): string {
  const type = JSON.stringify(contentType);
  return `{"content_type":${type},"revpos":${revpos},"digest":"${writeDigest(digest)}","length":${length},"stub":true}`;
}

/** Trusts the stub: it is what `writeStub` wrote. */
function readStub(name: string, stub: Readonly<Record<string, unknown>>): StoredAttachment {
  return {
    name,
    contentType: String(stub['content_type']),
    revpos: Number(stub['revpos']),
    digest: readDigest(stub['digest']) ?? '',
    length: Number(stub['length']),
  };
}
