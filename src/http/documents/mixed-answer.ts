/** Many revisions with the content of their attachments, as `multipart/mixed` (docs/http.md#multipart-documents). */
import { ChunkStream } from '../../attachments/outgoing.ts';
import type { Snapshot } from '../../database/contract.ts';
import type { RevId } from '../../documents/contract.ts';
import type { Answer, Context } from '../request/context.ts';
import type { SnapshotLease } from '../request/snapshot-lease.ts';
import { multipartType, type Part, partText } from '../response/multipart-writer.ts';
import { MUST_REVALIDATE } from '../response/responses.ts';
import { type RenderedDocument, renderedText } from './inline-attachments.ts';
import { relatedDocument } from './related-document.ts';

/** A revision, or what is told in the place of one. */
export type MixedPart =
  | {
      readonly rendered: RenderedDocument;
      /** Revisions that the reader has: attachments that they have stay stubs. */
      readonly since: readonly RevId[];
    }
  | (Part & { readonly rendered?: undefined });

/** Releases the lease when the answer was read, or will not be. */
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
  yield encoder.encode(`--${boundary}`);
  for await (const part of parts) {
    const inner = context.services.uuids.random();
    const related = part.rendered && (await withAttachments(snapshot, part, inner));
    if (related === undefined) {
      const plain = part.rendered ? { type: 'application/json', text: renderedText(part.rendered) } : part;
      yield encoder.encode(partText(plain, boundary));
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
  yield encoder.encode('--');
}

function withAttachments(
  snapshot: Snapshot,
  { rendered, since }: { readonly rendered: RenderedDocument; readonly since: readonly RevId[] },
  boundary: string,
) {
  return relatedDocument(snapshot, rendered, { content: true, since, encodingInfo: false }, boundary);
}
