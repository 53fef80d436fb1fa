/** Documents sent as `multipart/related`, followed by their attachments (docs/http/attachments.md#multipart-uploads). */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { fileNameOf, type IncomingPart } from '../../base/shared/multipart-reader.ts';
import { eachInSteps, runCooperatively } from '../../base/shared/turn.ts';
import { type StoredUpload, takeIn } from '../../database/attachments/intake.ts';
import { Intakes } from '../../database/attachments/intakes.ts';
import type { IncomingAttachment, IncomingDocument } from '../../database/documents/contract.ts';
import { readDocumentInSteps } from '../../database/documents/incoming/read-document.ts';
import { readContentMd5 } from '../../database/documents/stored-attachments.ts';
import type { Database } from '../../database/store/contract.ts';
import { bodyChunks, readPartText } from '../request/bodies.ts';
import { holdAttachments } from '../request/body-memory.ts';
import type { Context } from '../request/context.ts';
import { mustBoundaryOf, readParts } from '../request/multipart-request.ts';

export interface RelatedRequest {
  readonly document: IncomingDocument;
  /** The attachments that followed, by name. */
  readonly followed: ReadonlyMap<string, StoredUpload>;
  /** To be called when the write has been decided. Resolves when all is discarded. */
  discard(): Promise<void>;
}

/**
 * Receives the document and what follows it, and stores the attachments while they arrive. Fails with `bad_request` if the document is
 * not the first part, or if a part that the document announces is missing or has another length.
 */
export async function receiveRelated(context: Context, database: Database): Promise<RelatedRequest> {
  const parts = readParts(bodyChunks(context), mustBoundaryOf(context.header('content-type') ?? ''));
  const intakes = new Intakes<string>();
  try {
    const first = await parts.next();
    const document = await readFirst(context, first.done === true ? undefined : first.value);
    const following = document.attachments.filter(({ source }) => source === 'follows');
    const awaited = new Awaited(following);
    for await (const part of parts) {
      const entry = awaited.take(fileNameOf(part.headers['content-disposition']));
      if (entry === undefined) continue;
      await holdAttachments(context, intakes.count, 1);
      await intakes.add(entry.name, part.chunks, (chunks) => takePart(context, database, entry, { ...part, chunks }));
    }
    const { next } = awaited;
    if (next !== undefined) throw didNotCome(next.name);
    const followed = await intakes.settle();
    const discard = async () => runCooperatively(eachInSteps(followed.values(), (taken) => taken.discard()));
    return { document, followed, discard };
  } catch (failure) {
    await intakes.discard();
    throw failure;
  }
}

async function readFirst(context: Context, part: IncomingPart | undefined): Promise<IncomingDocument> {
  const type = part?.headers['content-type'] ?? 'application/json';
  if (part === undefined || !type.toLowerCase().startsWith('application/json')) {
    throw new DatabaseError('bad_request', 'The first part must be the document, as application/json.');
  }
  const text = await readPartText(context, part.chunks);
  return runCooperatively(readDocumentInSteps(text));
}

/** The attachments that a document announces and that have not come yet. */
class Awaited {
  readonly #inOrder: readonly IncomingAttachment[];
  readonly #byName: Map<string, IncomingAttachment>;
  /** All before this position have come. */
  #from = 0;

  constructor(inOrder: readonly IncomingAttachment[]) {
    this.#inOrder = inOrder;
    this.#byName = new Map(inOrder.map((one) => [one.name, one]));
  }

  /** The next in the order of the document. */
  get next(): IncomingAttachment | undefined {
    for (;;) {
      const next = this.#inOrder[this.#from];
      if (next === undefined || this.#byName.has(next.name)) return next;
      this.#from++;
    }
  }

  /** Takes the entry that a part belongs to: by its file name, else the next. */
  take(fileName: string | undefined): IncomingAttachment | undefined {
    const entry = this.#byName.get(fileName ?? '') ?? this.next;
    if (entry !== undefined) this.#byName.delete(entry.name);
    return entry;
  }
}

function takePart(
  context: Context,
  database: Database,
  { contentType, encoding, length, encodedLength }: IncomingAttachment,
  { headers, chunks }: IncomingPart,
): Promise<StoredUpload> {
  const isEncoded = encoding === 'gzip' || headers['content-encoding']?.toLowerCase() === 'gzip';
  const md5 = readContentMd5(headers['content-md5']);
  return takeIn(database, context.services, {
    contentType,
    encoding: isEncoded ? 'gzip' : undefined,
    source: chunks,
    length: isEncoded ? encodedLength : length,
    digest: () => md5,
  });
}

function didNotCome(name: string): DatabaseError {
  return new DatabaseError(
    'bad_request',
    `Attachment ${name} should follow the document, but is missing; nothing was changed.`,
  );
}
