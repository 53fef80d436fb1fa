/**
 * `POST /{db}/{docid}` as an HTML form: files become attachments (docs/http/documents.md#form-uploads). Any page can send a form, so the
 * browser has to state that a page of this server sent it.
 */

import { DatabaseError } from '../../base/errors/database-error.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import { fileNameOf, type IncomingPart, nameOf } from '../../base/shared/multipart-reader.ts';
import { runCooperatively } from '../../base/shared/turn.ts';
import { takeIn } from '../../database/attachments/intake.ts';
import { Intakes } from '../../database/attachments/intakes.ts';
import type { DocId, RevId } from '../../database/documents/contract.ts';
import { isLocalId } from '../../database/documents/identifiers.ts';
import {
  checkAddressable,
  checkAttachmentName,
  DEFAULT_CONTENT_TYPE,
  duplicateAttachments,
} from '../../database/documents/incoming/incoming-attachment.ts';
import { readDocumentInSteps } from '../../database/documents/incoming/read-document.ts';
import { parseRevId } from '../../database/documents/revisions/revisions.ts';
import type { AttachmentWrite, Database, DocumentWrite } from '../../database/store/contract.ts';
import { bodyChunks, isMultipart, readPartText } from '../request/bodies.ts';
import { holdAttachments } from '../request/body-memory.ts';
import type { Answer, Context } from '../request/context.ts';
import { mustBoundaryOf, readParts } from '../request/multipart-request.ts';
import { ownHost } from '../response/locations.ts';
import { type IncomingWrite, keptAttachment, uploadOf } from './attached-writes.ts';
import { documentBefore } from './attachment-handlers.ts';
import { writeOne, writeOptions, writtenAnswer } from './write-document.ts';

/** What a form contains. */
interface Form {
  readonly fields: Map<string, string>;
  /** By their names. */
  readonly files: Map<string, { readonly contentType: string }>;
  readonly intakes: Intakes<string>;
}

export function postForm(context: Context, database: string, id: DocId): MaybePromise<Answer> {
  if (!isMultipart(context, 'form-data')) {
    throw new DatabaseError('bad_content_type', 'Content-Type must be multipart/form-data');
  }
  mustComeFromHere(context);
  if (isLocalId(id)) throw new DatabaseError('bad_request', '_local documents do not accept attachments.');
  return context.useDatabase(database, async (open) => {
    const form: Form = { fields: new Map(), files: new Map(), intakes: new Intakes() };
    try {
      await readForm(context, open, form);
      const write = await writeOf(open, id, form);
      return writtenAnswer(context, database, await writeOne(context, open, write, writeOptions(context, true)));
    } finally {
      await form.intakes.discard();
    }
  });
}

function mustComeFromHere(context: Context): void {
  const referer = context.header('referer');
  if (referer === undefined) throw new DatabaseError('bad_request', 'Referer header required.');
  const host = /^[a-z]+:\/\/([^/?#]*)/i.exec(referer)?.[1];
  if (host?.toLowerCase() !== ownHost(context)?.toLowerCase()) {
    throw new DatabaseError('bad_request', 'Referer header must match host.');
  }
}

async function readForm(context: Context, database: Database, form: Form): Promise<void> {
  const boundary = mustBoundaryOf(context.header('content-type') ?? '');
  for await (const part of readParts(bodyChunks(context), boundary)) {
    const disposition = part.headers['content-disposition'];
    const field = nameOf(disposition);
    const fileName = fileNameOf(disposition);
    // For a file that was not chosen, a form sends a part without a name.
    if (field === '_attachments' && fileName) await takeFile(context, database, form, fileName, part);
    else if (field !== undefined && fileName === undefined) {
      form.fields.set(field, await readPartText(context, part.chunks));
    }
  }
}

async function takeFile(
  context: Context,
  database: Database,
  { files, intakes }: Form,
  name: string,
  { headers, chunks }: IncomingPart,
): Promise<void> {
  checkAttachmentName(name);
  checkAddressable(name);
  if (files.has(name)) throw duplicateAttachments();
  await holdAttachments(context, files.size, 1);
  const contentType = headers['content-type'] ?? DEFAULT_CONTENT_TYPE;
  files.set(name, { contentType });
  await intakes.add(name, chunks, (source) =>
    takeIn(database, context.services, { contentType, encoding: undefined, source }),
  );
}

/** Returns the document of the field `_doc`, or the stored one that `_rev` names. The files replace its attachments of the same names. */
async function writeOf(database: Database, id: DocId, { fields, files, intakes }: Form): Promise<IncomingWrite> {
  const rev = fields.get('_rev')?.trim();
  const text = fields.get('_doc');
  const added = Array.from(await intakes.settle(), ([name, taken]) => ({
    name,
    contentType: files.get(name)?.contentType ?? DEFAULT_CONTENT_TYPE,
    revpos: undefined,
    ...uploadOf(taken),
  }));
  if (text !== undefined) return writeOfText(id, text, rev, added, files);
  const known: RevId | undefined = rev === undefined || rev === '' ? undefined : parseRevId(rev);
  const before = await documentBefore(database, id, known);
  const kept = before.attachments.map(keptAttachment).filter(({ name }) => !files.has(name));
  const write: DocumentWrite = { id, rev: known, deleted: false, body: before.body, attachments: [...kept, ...added] };
  return write;
}

async function writeOfText(
  id: DocId,
  text: string,
  rev: string | undefined,
  added: readonly AttachmentWrite[],
  files: Form['files'],
): Promise<IncomingWrite> {
  const document = await runCooperatively(readDocumentInSteps(text));
  const incoming = document.attachments.filter(({ name }) => !files.has(name));
  const given = document.rev ?? (rev === undefined || rev === '' ? undefined : parseRevId(rev));
  const { deleted, body } = document;
  return { id, rev: given, deleted, body, incoming, attachments: added };
}
