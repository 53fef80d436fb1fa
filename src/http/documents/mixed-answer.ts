/**
 * Revisions as parts of `multipart/mixed`, as the replicators of this family read it (docs/http/documents.md#multipart-answers),
 * with the content of their attachments (docs/http/attachments.md#multipart-documents).
 */

import { TimeSlice } from '../../base/shared/turn.ts';
import { ChunkStream } from '../../database/attachments/outgoing.ts';
import type { RevId } from '../../database/documents/contract.ts';
import type { Snapshot } from '../../database/store/contract.ts';
import type { Answer, Context } from '../request/context.ts';
import type { SnapshotLease } from '../request/snapshot-lease.ts';
import { MUST_REVALIDATE } from '../response/responses.ts';
import { type ShownRevision, shownPieces } from '../shown/shown-revision.ts';
import { relatedDocument } from './related-document.ts';

/** A revision, or what is sent in place of one. */
export type MixedPart =
  | {
      readonly shown: ShownRevision;
      /** Revisions that the reader has: attachments that these have stay stubs. */
      readonly since: readonly RevId[];
    }
  | (Part & { readonly shown?: undefined });

/** Releases the lease when the response has been read, or will not be read. */
export function mixedAnswer(context: Context, lease: SnapshotLease, parts: AsyncIterable<MixedPart>): Answer {
  const boundary = context.services.uuids.random();
  const headers = { 'content-type': multipartType(boundary), 'cache-control': MUST_REVALIDATE, vary: 'Accept' };
  if (context.isHead) {
    lease.release();
    return { status: 200, headers, body: null };
  }
  const chunks = mixedChunks(context, lease.snapshot, parts, boundary);
  return { status: 200, headers, body: new ChunkStream(chunks, undefined, lease.release) };
}

async function* mixedChunks(
  context: Context,
  snapshot: Snapshot,
  parts: AsyncIterable<MixedPart>,
  boundary: string,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  const timeSlice = new TimeSlice();
  yield encoder.encode(`--${boundary}`);
  for await (const part of parts) {
    if (timeSlice.isDue) await timeSlice.rest();
    if (part.shown === undefined) {
      yield encoder.encode(partText(part, boundary));
      continue;
    }
    const inner = context.services.uuids.random();
    const related = await withAttachments(context, snapshot, part, inner);
    if (related === undefined) {
      const text = partPieces('application/json', shownPieces(snapshot, part.shown), boundary);
      for await (const piece of text) yield encoder.encode(piece);
      continue;
    }
    try {
      yield encoder.encode(`\r\nContent-Type: multipart/related; boundary="${inner}"\r\n\r\n`);
      yield* related.chunks;
      yield encoder.encode(`\r\n--${boundary}`);
    } finally {
      related.release();
    }
  }
  yield encoder.encode(MULTIPART_END);
}

function withAttachments(
  context: Context,
  snapshot: Snapshot,
  { shown, since }: { readonly shown: ShownRevision; readonly since: readonly RevId[] },
  boundary: string,
) {
  return relatedDocument(context, snapshot, shown, { content: true, since, encodingInfo: false }, boundary);
}

interface Part {
  /** The part's content type. */
  readonly type: string;
  readonly text: string;
}

export function multipartType(boundary: string): string {
  return `multipart/mixed; boundary="${boundary}"`;
}

/** The end of a `multipart/mixed` of parts that `partText` and `partPieces` wrote after `--boundary`. It must be random: no document contains it. */
export const MULTIPART_END = '--';

/** The part, and the boundary after it. */
export function partText({ type, text }: Part, boundary: string): string {
  return `\r\nContent-Type: ${type}\r\n\r\n${text}\r\n--${boundary}`;
}

/** Like `partText`, for a text in pieces. */
export async function* partPieces(
  type: string,
  text: AsyncIterable<string>,
  boundary: string,
): AsyncGenerator<string, void, void> {
  yield `\r\nContent-Type: ${type}\r\n\r\n`;
  yield* text;
  yield `\r\n--${boundary}`;
}
