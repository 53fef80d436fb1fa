/**
 * Attachments in the stored text of a body: the member `_attachments`, which stands first in it, with a stub for each. So a document is
 * shown, mapped and searched with its stubs without anything being looked up.
 */
import { JsonCursor } from '../../json/json-cursor.ts';
import type { StoredAttachment } from '../contract.ts';
import { readDigest, writeDigest } from './digests.ts';

const START = '{"_attachments":';

/** Whether the stored body has attachments. */
export function hasAttachments(body: string): boolean {
  return body.startsWith(START);
}

/** The stored form of a body without members that begin with `_`, and of its attachments. */
export function joinAttachments(body: string, attachments: readonly StoredAttachment[]): string {
  if (attachments.length === 0) return body;
  const stubs = attachments.map((attachment) => `${JSON.stringify(attachment.name)}:${writeStub(attachment)}`);
  const rest = body === '{}' ? '}' : `,${body.slice(1)}`;
  return `${START}{${stubs.join(',')}}${rest}`;
}

/** The parts of a stored body: its attachments, and the body without them. */
export function splitAttachments(stored: string): {
  readonly attachments: readonly StoredAttachment[];
  readonly body: string;
} {
  if (!hasAttachments(stored)) return { attachments: [], body: stored };
  const cursor = new JsonCursor(stored);
  cursor.enter();
  cursor.nextMember();
  const end = cursor.valueEnd;
  const stubs: unknown = JSON.parse(stored.slice(START.length, end));
  const body = stored[end] === ',' ? `{${stored.slice(end + 1)}` : '{}';
  return { attachments: Object.entries(Object(stubs)).map(([name, stub]) => readStub(name, Object(stub))), body };
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
