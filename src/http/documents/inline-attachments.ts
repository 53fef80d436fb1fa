/** Documents with the content of their attachments inside, as Base64 (docs/http.md#reading-attachments-with-documents). */
import { plainBytes } from '../../attachments/outgoing.ts';
import type { DocumentRecord, Snapshot, StoredNode } from '../../database/contract.ts';
import { writeDigest } from '../../documents/attachments/digests.ts';
import { hasAttachments, splitAttachments } from '../../documents/attachments/stored-attachments.ts';
import type { RevId, StoredAttachment } from '../../documents/contract.ts';
import { parseRevId, toRevision } from '../../documents/revisions/revisions.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import { must } from '../../shared/assert.ts';
import { toBase64 } from '../../shared/base64.ts';
import { parseJson } from '../request/bodies.ts';
import type { Query } from '../request/query.ts';
import { documentText } from './document-rendering.ts';

/** What of its attachments a read is to show beyond their stubs. */
export interface AttachmentFlags {
  readonly content: boolean;
  /** Revisions that the reader has: what they have already stays a stub. */
  readonly since: readonly RevId[];
  readonly encodingInfo: boolean;
}

/** Undefined where stubs are all that is asked for. Fails with `bad_request` where `atts_since` is no list of revisions. */
export function readAttachmentFlags(query: Query): AttachmentFlags | undefined {
  if (query.isEmpty) return undefined;
  const given = query.get('atts_since');
  const since = given === undefined ? [] : parseSince(given);
  const flags = {
    content: query.flag('attachments') || given !== undefined,
    since,
    encodingInfo: query.flag('att_encoding_info'),
  };
  return flags.content || flags.encodingInfo ? flags : undefined;
}

function parseSince(text: string): readonly RevId[] {
  const list = parseJson(text);
  if (Array.isArray(list)) return list.map(parseRevId);
  throw new DatabaseError('bad_request', `atts_since is ${text}; it must be a JSON list of revisions.`);
}

/** Whether the flags make a difference for a document with that body. */
export function needsAttachments(body: string, flags: AttachmentFlags | undefined): flags is AttachmentFlags {
  return flags !== undefined && hasAttachments(body);
}

/** The document's text in pieces, of which none is much larger than a page. `members` is what `metaOf` gave. */
export async function* documentPieces(
  snapshot: Snapshot,
  { record, node, body, members }: RenderedDocument,
  flags: AttachmentFlags,
): AsyncGenerator<string, void, void> {
  const { attachments, body: rest } = splitAttachments(body);
  const known = knownGeneration(node, flags.since);
  const head = documentText(record, node, '{}', members);
  let separator = `${head.slice(0, -1)},"_attachments":{`;
  for (const attachment of attachments) {
    yield `${separator}${JSON.stringify(attachment.name)}:`;
    yield* attachmentPieces(snapshot, attachment, flags, flags.content && attachment.revpos > known);
    separator = ',';
  }
  yield rest === '{}' ? '}}' : `},${rest.slice(1)}`;
}

/** Plain bytes of attachments that one row of a list may have: a row's text is made as a whole. */
const MOST_ROW_BYTES = 64 * 1024 * 1024;

/**
 * The bodies of revisions, as `Snapshot.bodies` gives them, with what the flags ask for. Fails with `too_large` where a document has more
 * attachments than a row of a list can show.
 */
export async function shownBodies(
  snapshot: Snapshot,
  nodes: readonly StoredNode[],
  flags: AttachmentFlags | undefined,
): Promise<(string | undefined)[]> {
  const bodies = await snapshot.bodies(nodes);
  for (const [index, body] of bodies.entries()) {
    if (body !== undefined && needsAttachments(body, flags)) bodies[index] = await shownBody(snapshot, body, flags);
  }
  return bodies;
}

async function shownBody(snapshot: Snapshot, body: string, flags: AttachmentFlags): Promise<string> {
  const { attachments, body: rest } = splitAttachments(body);
  const bytes = flags.content ? attachments.reduce((sum, { length }) => sum + length, 0) : 0;
  if (bytes > MOST_ROW_BYTES) {
    const reason = `A document of the list has ${bytes} bytes of attachments, and a row can show ${MOST_ROW_BYTES}. Read it by itself.`;
    throw new DatabaseError('too_large', reason);
  }
  let text = '{"_attachments":{';
  let separator = '';
  for (const attachment of attachments) {
    text += `${separator}${JSON.stringify(attachment.name)}:`;
    for await (const piece of attachmentPieces(snapshot, attachment, flags, flags.content)) text += piece;
    separator = ',';
  }
  return rest === '{}' ? `${text}}}` : `${text}},${rest.slice(1)}`;
}

/** `{"ok": document}`, with what the flags ask for. */
export async function* okPieces(
  snapshot: Snapshot,
  rendered: RenderedDocument,
  flags: AttachmentFlags,
): AsyncGenerator<string, void, void> {
  yield '{"ok":';
  if (needsAttachments(rendered.body, flags)) yield* documentPieces(snapshot, rendered, flags);
  else yield renderedText(rendered);
  yield '}';
}

/** The document with no more than the stubs of its attachments. */
export function renderedText({ record, node, body, members }: RenderedDocument): string {
  return documentText(record, node, body, members);
}

/** A revision that was read, before its text is made. */
export interface RenderedDocument {
  readonly record: DocumentRecord;
  readonly node: StoredNode;
  readonly body: string;
  readonly members: string | undefined;
}

/** The generation of the newest revision that both the node and the reader have; 0 where there is none. */
export function knownGeneration(node: StoredNode, since: readonly RevId[]): number {
  if (since.length === 0) return 0;
  const revisions = since.map(toRevision);
  for (let one: StoredNode | undefined = node; one !== undefined; one = one.parent) {
    const { generation, hash } = one;
    if (revisions.some((known) => known.generation === generation && known.hash === hash)) return generation;
  }
  return 0;
}

async function* attachmentPieces(
  snapshot: Snapshot,
  attachment: StoredAttachment,
  { encodingInfo }: AttachmentFlags,
  isIncluded: boolean,
): AsyncGenerator<string, void, void> {
  const { contentType, revpos, digest, length } = attachment;
  const type = JSON.stringify(contentType);
  yield `{"content_type":${type},"revpos":${revpos},"digest":"${writeDigest(digest)}"`;
  const stored = encodingInfo ? await snapshot.attachment(attachment) : undefined;
  if (stored?.encoding !== undefined) yield `,"encoding":"${stored.encoding}","encoded_length":${stored.storedLength}`;
  if (!isIncluded) {
    yield `,"length":${length},"stub":true}`;
    return;
  }
  yield ',"data":"';
  yield* base64Of(snapshot, attachment);
  yield '"}';
}

/** Three bytes become four characters: what is left over waits for the next chunk. */
async function* base64Of(snapshot: Snapshot, attachment: StoredAttachment): AsyncGenerator<string, void, void> {
  const reader = must(await snapshot.openAttachment(attachment), 'what a kept revision refers to is there');
  try {
    let rest: Uint8Array = new Uint8Array();
    for await (const chunk of plainBytes(reader)) {
      const bytes = rest.length === 0 ? chunk : joined(rest, chunk);
      const end = bytes.length - (bytes.length % 3);
      yield toBase64(bytes.subarray(0, end));
      rest = bytes.slice(end);
    }
    yield toBase64(rest);
  } finally {
    reader.release();
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}
