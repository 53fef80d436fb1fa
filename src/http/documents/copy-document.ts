/**
 * `COPY /{db}/{docid}`, for ordinary and local documents in any combination, in one database or into another one of this service
 * (docs/http/documents.md#copying-a-document).
 */

import { DatabaseError } from '../../base/errors/database-error.ts';
import type { ByteStream, PlainRequest } from '../../base/shared/message.ts';
import { runCooperatively } from '../../base/shared/turn.ts';
import { ChunkStream } from '../../database/attachments/outgoing.ts';
import type { DocId, RevId } from '../../database/documents/contract.ts';
import { isLocalId, parseDocId } from '../../database/documents/identifiers.ts';
import { isLocalRev, parseRevId } from '../../database/documents/revisions/revisions.ts';
import { splitAttachments } from '../../database/documents/stored-attachments.ts';
import type { Database, Snapshot } from '../../database/store/contract.ts';
import { isBelow, originOf, parseTarget, Query } from '../request/address.ts';
import type { Answer, Context } from '../request/context.ts';
import { type SnapshotLease, withSnapshot, withSnapshotLease } from '../request/snapshot-lease.ts';
import { encodeDocId, ownOrigin } from '../response/locations.ts';
import { COPIED, holdDocument } from '../shown/long-document.ts';
import { keptAttachment, noLocalAttachments } from './attached-writes.ts';
import { relatedText } from './related-document.ts';
import { missing, nodeToRead } from './revision-selection.ts';
import { baseRevision, writeAndAnswer } from './write-document.ts';

export async function copyDocument(context: Context, database: string, id: DocId): Promise<Answer> {
  const sourceRev = baseRevision(context, id, undefined);
  const target = parseDestination(context);
  if (target.database !== undefined && target.database !== database) {
    const { database: other, id: copyId, rev } = target;
    const write = { database: other, id: copyId, rev };
    return withSnapshotLease(context, database, async (lease) => {
      const body = await shownSource(context, lease, id, sourceRev);
      return writeElsewhere(context, lease, body, write);
    });
  }
  const shown = await withSnapshot(context, database, (snapshot, open) =>
    shownSource(context, { snapshot, database: open }, id, sourceRev),
  );
  const rev = target.rev === undefined ? undefined : parseTargetRev(target.id, target.rev);
  const { attachments, body: own } = await runCooperatively(splitAttachments(shown));
  if (isLocalId(target.id) && attachments.length > 0) throw noLocalAttachments();
  const copies = attachments.map((one) => ({ ...keptAttachment(one), revpos: undefined }));
  return writeAndAnswer(
    context,
    database,
    { id: target.id, rev, deleted: false, body: own, attachments: copies },
    true,
  );
}

interface Source {
  readonly snapshot: Snapshot;
  readonly database: Database;
}

/** Returns what the user may see of the source. */
async function shownSource(
  context: Context,
  { snapshot, database }: Source,
  id: DocId,
  rev: RevId | undefined,
): Promise<string> {
  const body = isLocalId(id)
    ? await readLocalSource(context, database, id, rev)
    : await readSource(context, snapshot, id, rev);
  const shown = context.restriction === undefined ? body : context.restriction.show(id, body);
  if (shown === undefined) throw missing();
  return shown;
}

/** Reads tombstones, too, whose copy is live (docs/http/documents.md#copying-a-document). */
async function readSource(context: Context, snapshot: Snapshot, id: DocId, rev: RevId | undefined): Promise<string> {
  const node = nodeToRead(await snapshot.document(id), rev);
  await holdDocument(context, node?.body?.length ?? 0, COPIED);
  const body = node === undefined ? undefined : await snapshot.body(node);
  if (node === undefined || body === undefined) throw missing();
  return body;
}

async function readLocalSource(
  context: Context,
  database: Database,
  id: DocId,
  rev: RevId | undefined,
): Promise<string> {
  const local = await database.readLocal(id);
  if (local === undefined || (rev !== undefined && rev !== local.rev)) throw missing();
  await holdDocument(context, local.body.length, COPIED);
  return local.body;
}

function parseTargetRev(id: DocId, rev: string): RevId {
  return isLocalId(id) && isLocalRev(rev) ? rev : parseRevId(rev);
}

interface Copy {
  readonly database: string;
  readonly id: DocId;
  /** The revision that it overwrites. */
  readonly rev: string | undefined;
}

/** Headers that concern the copy request, and not the write. */
const OF_THE_COPY = /^(?:destination|if-.*|range|content-.*|transfer-encoding|expect|x-http-method-override)$/;

/**
 * Writes a copy into another database of this service as a client would write it: by a PUT with the attachments after the document. So
 * rights, validation functions and limits of that database apply. `body` is the stored body of the source. Releases the lease.
 */
async function writeElsewhere(
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

interface Destination {
  /** The database that a full address names; undefined for the source's database. */
  readonly database: string | undefined;
  readonly id: DocId;
  /** The target's revision to overwrite. */
  readonly rev: string | undefined;
}

/**
 * Reads `Destination`: a document's id, percent-encoded, or its full address on this server, with the revision to
 * overwrite as `?rev=`. Fails with `bad_request`.
 */
export function parseDestination(context: Context): Destination {
  const header = withUtf8(context.header('destination') ?? '');
  if (header === '') throw new DatabaseError('bad_request', 'Destination header is mandatory for COPY.');
  if (originOf(header) !== undefined) return destinationOfUrl(context, header);
  const question = header.indexOf('?');
  const path = question < 0 ? header : header.slice(0, question);
  const query = new Query(question < 0 ? '' : header.slice(question + 1));
  return { database: undefined, id: parseDocId(decodeDestination(path)), rev: query.get('rev') };
}

function destinationOfUrl(context: Context, url: string): Destination {
  const { basePath } = context.services;
  const isOwn = comparable(originOf(url)) === comparable(ownOrigin(context));
  if (!isOwn || !isBelow(url, basePath)) throw new DatabaseError('bad_request', 'Destination URL must be relative.');
  const { segments, search } = parseTarget(url, basePath);
  const [database, ...id] = segments;
  if (id.length === 0 || id.length > (id[0] === '_design' || id[0] === '_local' ? 2 : 1)) {
    throw new DatabaseError('bad_request', 'Destination must name a document; write a / in its id as %2F.');
  }
  return { database, id: parseDocId(id.join('/')), rev: new Query(search).get('rev') };
}

/** Omits the scheme's default port. */
function comparable(origin: string | undefined): string | undefined {
  return origin?.toLowerCase().replace(/^(http:.*):80$|^(https:.*):443$/, '$1$2');
}

/** Decodes raw bytes as UTF-8 if they are valid: hosts return each byte of a header as one character, and not all clients encode it. */
function withUtf8(header: string): string {
  return header.replace(/[\x80-\xff]+/g, (shown) => {
    const bytes = Uint8Array.from(shown, (byte) => byte.charCodeAt(0));
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    } catch {
      return shown;
    }
  });
}

function decodeDestination(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch (cause) {
    const reason = `Destination "${path}" is not valid percent-encoding; write a literal % as %25.`;
    throw new DatabaseError('bad_request', reason, { cause });
  }
}
