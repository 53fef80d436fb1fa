/** Show and update functions: both are called with one document, or none (docs/http/functions.md#show-functions, #update-functions). */
import { DatabaseError } from '../../../base/errors/database-error.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import { runCooperatively } from '../../../base/shared/turn.ts';
import { isLocalId, parseDocId } from '../../../database/documents/identifiers.ts';
import { readDocumentInSteps } from '../../../database/documents/incoming/read-document.ts';
import { md5 } from '../../../database/documents/md5.ts';
import { writeDocument } from '../../../database/documents/outgoing.ts';
import type { Database, Snapshot } from '../../../database/store/contract.ts';
import type { Program } from '../../../queries/sandbox/contract.ts';
import type { DesignDocument } from '../../../queries/views/contract.ts';
import { readDesign } from '../../documents/design-document.ts';
import { revOfOwnKind, writeOne, writeOptions } from '../../documents/write-document.ts';
import type { Answer, Context } from '../../request/context.ts';
import { withSnapshot } from '../../request/snapshot-lease.ts';
import { fitsHeader } from '../../response/locations.ts';
import { matchesTag, notModified, tagOf } from '../../response/responses.ts';
import { documentText, type MetaFlags, metaOf, revOf } from '../../shown/document-rendering.ts';
import { CALLED_WITH, holdDocument } from '../../shown/long-document.ts';
import type { DesignService } from './design-service.ts';
import { functionAnswer, HTML_TYPE, requesterOf } from './function-answer.ts';
import { functionRequest } from './function-request.ts';

/** Answers with what a show function makes of a document. `rest`: see `withCall`. */
export function show(
  { programs }: DesignService,
  context: Context,
  name: string,
  rest: readonly string[],
): Promise<Answer> {
  return withCall(context, name, ['show', rest], async (call) => {
    const { database, design, document } = call;
    const tag = await tagOf([design.id, design.rev, document.identity, ...requesterOf(context, database)]);
    if (context.method === 'GET' && matchesTag(context.header('if-none-match'), tag)) return notModified(tag);
    const program = await programs.open(database, design);
    const made = await program.show(...(await passedBy(context, call)));
    const defaults = { code: 200, type: HTML_TYPE, headers: { vary: 'Accept', etag: tag } };
    return functionAnswer(context.services.config, made, defaults);
  });
}

/** Writes the document that an update function makes of a request, like any other. `rest`: see `withCall`. */
export function update(
  { programs }: DesignService,
  context: Context,
  name: string,
  rest: readonly string[],
): Promise<Answer> {
  return withCall(context, name, ['update', rest], async (call) => {
    const { database, design } = call;
    const program = await programs.open(database, design);
    const { document: made, response } = await program.update(...(await passedBy(context, call)));
    if (made === undefined) return functionAnswer(context.services.config, response, { code: 200, type: HTML_TYPE });
    const saved = await save(context, database, made);
    const encodedId = encodeURIComponent(saved.id);
    const headers = { ...(fitsHeader(encodedId) && { 'x-svc-id': encodedId }), 'x-svc-update-newrev': saved.rev };
    return functionAnswer(context.services.config, response, { code: 201, type: HTML_TYPE, headers });
  });
}

/** A call of a function, before its program is opened. */
interface Call {
  readonly database: Database;
  readonly design: DesignDocument;
  readonly functionName: string;
  /** The document that the path names. */
  readonly id: string | undefined;
  readonly document: FunctionDocument;
}

/** `rest`: the design document's name, the function's, and the document's id, whose slashes need no encoding. */
async function withCall(
  context: Context,
  name: string,
  [kind, rest]: readonly [kind: 'show' | 'update', rest: readonly string[]],
  use: (call: Call) => Promise<Answer>,
): Promise<Answer> {
  const [designName = '', functionName, ...idSegments] = rest;
  if (functionName === undefined) throw new DatabaseError(`${kind}_error`, 'Invalid path.');
  const id = idSegments.length === 0 ? undefined : idSegments.join('/');
  return withSnapshot(context, name, async (snapshot, database) => {
    const design = await readDesign(snapshot, designName);
    const document = await findDocument(context, database, snapshot, id);
    return use({ database, design, functionName, id, document });
  });
}

/** Returns what the function is called by and with. */
async function passedBy(
  context: Context,
  { database, functionName, id, document }: Call,
): Promise<Parameters<Program['show']>> {
  const request = await functionRequest(context, database, id ?? null);
  return [functionName, await document.text(), request];
}

async function save(
  context: Context,
  database: Database,
  text: string,
): Promise<{ readonly id: string; readonly rev: string }> {
  const { id, rev, deleted, body, attachments: incoming } = await runCooperatively(readDocumentInSteps(text));
  if (id === undefined) throw new DatabaseError('bad_request', 'Document id must not be empty');
  const write = { id, rev: rev === undefined ? undefined : revOfOwnKind(id, rev), deleted, body, incoming };
  return writeOne(context, database, write, writeOptions(context, true));
}

/** A document as functions get it: complete, with ancestry and conflicts. It was found, and may not have been read yet. */
interface FunctionDocument {
  /** Changes whenever anything that the function sees of the document changes. */
  readonly identity: string;
  /** JSON text. A long one counts as memory of the request from then on. */
  text(): MaybePromise<string>;
}

/** The members that describe other revisions. */
const SHOWN: MetaFlags = { revs: true, revsInfo: false, conflicts: true, deletedConflicts: false, localSeq: false };

const NONE: FunctionDocument = { identity: '', text: () => 'null' };

/** Returns `null` if there is no such document, if it is deleted, or if the path names none (`id` is undefined). */
async function findDocument(
  context: Context,
  database: Database,
  snapshot: Snapshot,
  id: string | undefined,
): Promise<FunctionDocument> {
  if (id === undefined) return NONE;
  const docId = parseDocId(id);
  if (isLocalId(docId)) {
    const local = await database.readLocal(docId);
    if (local === undefined) return NONE;
    await holdDocument(context, local.body.length, CALLED_WITH);
    // Revisions of local documents may repeat.
    const identity = JSON.stringify([local.id, local.rev, await md5(local.body)]);
    return { identity, text: () => writeDocument({ ...local, deleted: false }) };
  }
  const record = await snapshot.document(docId);
  const node = record?.leaves[0];
  if (record === undefined || node === undefined || node.deleted) return NONE;
  const members = metaOf(record, node, SHOWN);
  return {
    identity: JSON.stringify([docId, revOf(node), members]),
    text: async () => {
      await holdDocument(context, node.body?.length ?? 0, CALLED_WITH);
      const body = await snapshot.body(node);
      return body === undefined ? NONE.text() : documentText(record, node, body, members);
    },
  };
}
