/**
 * Copies documents into another database of this service. The copy is written as a client would write it: by a PUT with the attachments
 * after the document. So rights, validation functions and limits of that database apply (docs/http/documents.md#copying-a-document).
 */

import type { ByteStream, PlainRequest } from '../../base/shared/message.ts';
import { ChunkStream } from '../../database/attachments/outgoing.ts';
import type { DocId } from '../../database/documents/contract.ts';
import { originOf } from '../request/address/target.ts';
import type { Answer, Context } from '../request/context.ts';
import type { SnapshotLease } from '../request/snapshot-lease.ts';
import { encodeDocId } from '../response/locations.ts';
import { relatedText } from './related-document.ts';

interface Copy {
  readonly database: string;
  readonly id: DocId;
  /** The revision that it overwrites. */
  readonly rev: string | undefined;
}

/** Headers that concern the copy request, and not the write. */
const OF_THE_COPY = /^(?:destination|if-.*|range|content-.*|transfer-encoding|expect|x-http-method-override)$/;

/** `body` is the stored body of the source. Releases the lease. */
export async function writeElsewhere(
  context: Context,
  { snapshot, release }: SnapshotLease,
  body: string,
  copy: Copy,
): Promise<Answer> {
  const boundary = context.services.uuids.random();
  const own = `{"_id":${JSON.stringify(copy.id)}}`;
  const related = await relatedText(snapshot, { own, body, known: 0 }, boundary);
  if (related === undefined) {
    release();
    return context.answerInstead(requestFor(context, copy, 'application/json', body), 'PUT');
  }
  const stream = new ChunkStream(related.chunks, related.length, () => {
    related.release();
    release();
  });
  try {
    const type = `multipart/related; boundary="${boundary}"`;
    return await context.answerInstead(requestFor(context, copy, type, stream), 'PUT');
  } finally {
    await stream.cancel();
  }
}

function requestFor(
  context: Context,
  { database, id, rev }: Copy,
  type: string,
  body: string | ByteStream,
): PlainRequest {
  const { request, services, query } = context;
  const headers: Record<string, string> = { 'content-type': type };
  for (const [name, value] of Object.entries(request.headers)) {
    if (!OF_THE_COPY.test(name)) headers[name] = value;
  }
  const path = `${services.basePath}/${encodeURIComponent(database)}/${encodeDocId(id)}`;
  const given = { rev, batch: query.get('batch') };
  const parameters = Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  const search = parameters.length === 0 ? '' : `?${parameters.join('&')}`;
  return { ...request, method: 'PUT', url: `${originOf(request.url) ?? ''}${path}${search}`, headers, body };
}
