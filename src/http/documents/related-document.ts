/** Documents followed by the content of their attachments, as `multipart/related` (docs/http/attachments.md#multipart-documents). */

import { must } from '../../base/shared/assert.ts';
import { type CooperativeTask, runCooperatively, TimeSlice } from '../../base/shared/turn.ts';
import { utf8LengthInSteps, wholeCharacterPieces } from '../../base/shared/utf8.ts';
import { storedBytes } from '../../database/attachments/outgoing.ts';
import type { StoredAttachment } from '../../database/documents/contract.ts';
import { hasAttachments, readAttachments, writeDigest } from '../../database/documents/stored-attachments.ts';
import type { AttachmentReader, Snapshot } from '../../database/store/contract.ts';
import type { Context } from '../request/context.ts';
import { headerText } from '../response/responses.ts';
import { documentText, metaOf } from '../shown/document-rendering.ts';
import { type AttachmentFlags, knownGeneration } from '../shown/inline-attachments.ts';
import { LONG_BYTES, type ShownRevision } from '../shown/shown-revision.ts';

export interface RelatedDocument {
  readonly boundary: string;
  /** Bytes of the whole body. */
  readonly length: number;
  /** The body from its first boundary to its last. */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** To be called when the body has been read, or will not be read. */
  release(): void;
}

/** An attachment that is sent, with the headers of its part. */
interface Sent {
  readonly head: Uint8Array;
  readonly reader: AttachmentReader;
}

const encoder = new TextEncoder();

/** How many UTF-16 units of a text are encoded at a time, when they are read. */
const PIECE_UNITS = 131_072;

/** Memory per byte of a body that is read as a whole: its text, the text with its attachments, and the bytes of that. */
const MEMORY_PER_BYTE = 4;

/**
 * Returns undefined if no attachment is to be sent: the document is then sent as JSON. `boundary` must be random. A long body counts until
 * the document is released.
 */
export async function relatedDocument(
  context: Context,
  snapshot: Snapshot,
  shown: ShownRevision,
  flags: AttachmentFlags,
  boundary: string,
): Promise<RelatedDocument | undefined> {
  const bytes = shown.node.body?.attachments === undefined ? 0 : shown.node.body.length;
  if (bytes <= LONG_BYTES) return readRelated(snapshot, shown, flags, boundary);
  const release = await context.holdForPart(bytes * MEMORY_PER_BYTE);
  try {
    const related = await readRelated(snapshot, shown, flags, boundary);
    if (related === undefined) release();
    return related === undefined ? undefined : { ...related, release: () => releaseBoth(related, release) };
  } catch (failure) {
    release();
    throw failure;
  }
}

function releaseBoth(related: RelatedDocument, release: () => void): void {
  related.release();
  release();
}

async function readRelated(
  snapshot: Snapshot,
  { record, node, meta }: ShownRevision,
  flags: AttachmentFlags,
  boundary: string,
): Promise<RelatedDocument | undefined> {
  if (node.body?.attachments === undefined) return undefined;
  const body = must(await snapshot.body(node));
  const own = documentText(record, node, '{}', meta === undefined ? undefined : metaOf(record, node, meta));
  return relatedText(snapshot, { own, body, known: knownGeneration(node, flags.since) }, boundary);
}

/** The parts of a text that is followed by attachments. */
interface TextOptions {
  /** JSON object with the members that precede all others; it has at least one. */
  readonly own: string;
  /** As it is stored. */
  readonly body: string;
  /** Attachments of this generation and earlier ones stay stubs; 0 for none. */
  readonly known: number;
}

/** Like `relatedDocument`, with the caller's own members at the beginning. */
export async function relatedText(
  snapshot: Snapshot,
  { own, body, known }: TextOptions,
  boundary: string,
): Promise<RelatedDocument | undefined> {
  if (!hasAttachments(body)) return undefined;
  const { attachments, rest } = await runCooperatively(readAttachments(body));
  if (!attachments.some(({ revpos }) => revpos > known)) return undefined;
  const sent: Sent[] = [];
  const release = () => {
    for (const { reader } of sent) reader.release();
  };
  try {
    const texts: string[] = [];
    let text = `--${boundary}\r\nContent-Type: application/json\r\n\r\n${own.slice(0, -1)},"_attachments":{`;
    const timeSlice = new TimeSlice();
    for (const [index, attachment] of attachments.entries()) {
      if (timeSlice.isDue) await timeSlice.rest();
      const isSent = attachment.revpos > known;
      const reader = isSent ? await open(snapshot, attachment) : undefined;
      if (reader !== undefined) sent.push({ reader, head: encoder.encode(partHead(attachment, reader)) });
      text += `${index === 0 ? '' : ','}${JSON.stringify(attachment.name)}:${entryOf(attachment, reader)}`;
      if (text.length < PIECE_UNITS) continue;
      texts.push(text);
      text = '';
    }
    texts.push(`${text}}`, rest);
    const between = encoder.encode(`\r\n--${boundary}`);
    const last = encoder.encode('--');
    let length = (await runCooperatively(lengthOf(texts))) + between.length + last.length;
    for (const { head, reader } of sent) length += head.length + reader.stored.storedLength + between.length;
    return { boundary, length, chunks: chunksOf(texts, between, last, sent), release };
  } catch (failure) {
    release();
    throw failure;
  }
}

/** Returns the number of bytes of all texts. */
function* lengthOf(texts: readonly string[]): CooperativeTask<number> {
  let bytes = 0;
  for (const text of texts) bytes += yield* utf8LengthInSteps(text);
  return bytes;
}

async function open(snapshot: Snapshot, attachment: StoredAttachment): Promise<AttachmentReader> {
  return must(await snapshot.openAttachment(attachment), 'what a kept revision refers to is there');
}

async function* chunksOf(
  texts: readonly string[],
  between: Uint8Array,
  last: Uint8Array,
  sent: readonly Sent[],
): AsyncGenerator<Uint8Array> {
  for (const text of texts) {
    for (const piece of wholeCharacterPieces(text, PIECE_UNITS)) yield encoder.encode(piece);
  }
  yield between;
  for (const { head, reader } of sent) {
    yield head;
    yield* storedBytes(reader);
    yield between;
  }
  yield last;
}

function entryOf(
  { contentType, revpos, digest, length }: StoredAttachment,
  reader: AttachmentReader | undefined,
): string {
  const type = JSON.stringify(contentType);
  const shown = `"content_type":${type},"revpos":${revpos},"digest":"${writeDigest(digest)}","length":${length}`;
  if (reader === undefined) return `{${shown},"stub":true}`;
  const { encoding, storedLength } = reader.stored;
  const encoded = encoding === undefined ? '' : `,"encoding":"${encoding}","encoded_length":${storedLength}`;
  return `{${shown}${encoded},"follows":true}`;
}

function partHead({ name, contentType }: StoredAttachment, { stored }: AttachmentReader): string {
  const encoding = stored.encoding === undefined ? '' : `\r\nContent-Encoding: ${stored.encoding}`;
  const type = headerText(contentType);
  return (
    `\r\nContent-Disposition: attachment${fileName(name)}` +
    `\r\nContent-Type: ${type}\r\nContent-Length: ${stored.storedLength}${encoding}\r\n\r\n`
  );
}

/** Line breaks would end the header. A name with one is omitted, not altered into another name; the part is known by its place. */
function fileName(name: string): string {
  return /[\r\n]/.test(name) ? '' : `; filename="${name.replace(/["\\]/g, '\\$&')}"`;
}
