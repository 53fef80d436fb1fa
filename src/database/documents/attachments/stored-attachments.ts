/**
 * Attachments in the stored text of a body: the member `_attachments`, which comes first, with a stub for each. So a document can be
 * shown, mapped and searched with its stubs without a lookup.
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
