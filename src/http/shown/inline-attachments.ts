/** The content of attachments within documents, as Base64 (docs/http/attachments.md#reading-attachments-with-documents). */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { must } from '../../base/shared/assert.ts';
import { joinBytes, toBase64 } from '../../base/shared/bytes.ts';
import { plainBytes } from '../../database/attachments/outgoing.ts';
import type { RevId, StoredAttachment } from '../../database/documents/contract.ts';
import { revisionsBack } from '../../database/documents/revisions/ancestry.ts';
import { parseRevId, toRevision } from '../../database/documents/revisions/revisions.ts';
import { writeDigest } from '../../database/documents/stored-attachments.ts';
import type { Snapshot, StoredNode } from '../../database/store/contract.ts';
import type { Query } from '../request/address.ts';
import { parseJson } from '../request/bodies.ts';

/** What a read shows of its attachments beyond their stubs. */
export interface AttachmentFlags {
  readonly content: boolean;
  /** Revisions that the reader has: attachments that these have stay stubs. */
  readonly since: readonly RevId[];
  readonly encodingInfo: boolean;
}

/** Returns undefined if only stubs are requested. Fails with `bad_request` if `atts_since` is not a list of revisions. */
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

/** The member `_attachments` with a comma in front, in pieces that are not much larger than a page. */
export async function* attachmentsPieces(
  snapshot: Snapshot,
  node: StoredNode,
  attachments: readonly StoredAttachment[],
  flags: AttachmentFlags,
): AsyncGenerator<string, void, void> {
  const known = knownGeneration(node, flags.since);
  let separator = ',"_attachments":{';
  for (const attachment of attachments) {
    yield `${separator}${JSON.stringify(attachment.name)}:`;
    yield* attachmentPieces(snapshot, attachment, flags, flags.content && attachment.revpos > known);
    separator = ',';
  }
  yield '}';
}

/** The generation of the newest revision that both the node and the reader have; 0 if there is none. */
export function knownGeneration(node: StoredNode, since: readonly RevId[]): number {
  if (since.length === 0) return 0;
  const revisions = since.map(toRevision);
  for (const { generation, hash } of revisionsBack(node)) {
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

/** Encodes three bytes as four characters: remaining bytes wait for the next chunk. */
async function* base64Of(snapshot: Snapshot, attachment: StoredAttachment): AsyncGenerator<string, void, void> {
  const reader = must(await snapshot.openAttachment(attachment), 'what a kept revision refers to is there');
  try {
    let rest: Uint8Array = new Uint8Array();
    for await (const chunk of plainBytes(reader)) {
      const bytes = rest.length === 0 ? chunk : joinBytes([rest, chunk]);
      const end = bytes.length - (bytes.length % 3);
      yield toBase64(bytes.subarray(0, end));
      rest = bytes.slice(end);
    }
    yield toBase64(rest);
  } finally {
    reader.release();
  }
}
