/**
 * Attachments in the stored text of a body: the member `_attachments`, which stands first in it, with a stub for each. So a document is
 * shown, mapped and searched with its stubs without anything being looked up.
 */
import { JsonCursor } from '../../../base/json/json-cursor.ts';
import { type CooperativeTask, joinInSteps } from '../../../base/shared/turn.ts';
import type { StoredAttachment } from '../contract.ts';
import { readDigest, writeDigest } from './digests.ts';

const START = '{"_attachments":';

/** Whether the stored body has attachments. */
export function hasAttachments(body: string): boolean {
  return body.startsWith(START);
}

/**
 * The stored form of a body without members that begin with `_`, and of its attachments. Others may have a turn between many of them.
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

/** The parts of a stored body: its attachments, and the body without them. Others may have a turn between many of them. */
export function* splitAttachments(stored: string): CooperativeTask<{
  readonly attachments: readonly StoredAttachment[];
  readonly body: string;
}> {
  if (!hasAttachments(stored)) return { attachments: [], body: stored };
  const { attachments, rest } = yield* readAttachments(stored);
  return { attachments, body: rest === '}' ? '{}' : `{${rest.slice(1)}` };
}

/** Attachments that are read between two looks at the clock. */
const PER_STEP = 256;

/**
 * The attachments of a stored body that has some, and the text behind the member with them: a closing brace, or further members. That is a
 * part of the same text, so that none of it is copied. Others may have a turn between many attachments.
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
