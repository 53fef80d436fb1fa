/** Update functions: they turn a request into a document, which is then written like any other (docs/http/functions.md#update-functions). */

import { DatabaseError } from '../../../base/errors/database-error.ts';
import { runCooperatively } from '../../../base/shared/turn.ts';
import { readDocumentInSteps } from '../../../database/documents/incoming/read-document.ts';
import type { Database } from '../../../database/store/contract.ts';
import { readDesign } from '../../documents/design-document.ts';
import { revOfOwnKind, writeOne, writeOptions } from '../../documents/write-document.ts';
import type { Answer, Context } from '../../request/context.ts';
import { withSnapshot } from '../../request/snapshot-lease.ts';
import { fitsHeader } from '../../response/locations.ts';
import type { DesignService } from './design-service.ts';
import { functionAnswer, HTML_TYPE } from './function-answer.ts';
import { findFunctionDocument } from './function-document.ts';
import { functionRequest } from './function-request.ts';

/** `rest`: the design document's name, the function's, and the document's id, whose slashes need no encoding. */
export async function update(
  service: DesignService,
  context: Context,
  name: string,
  rest: readonly string[],
): Promise<Answer> {
  const [designName = '', functionName, ...idSegments] = rest;
  if (functionName === undefined) throw new DatabaseError('update_error', 'Invalid path.');
  const id = idSegments.length === 0 ? undefined : idSegments.join('/');
  return withSnapshot(context, name, async (snapshot, database) => {
    const design = await readDesign(snapshot, designName);
    const document = await findFunctionDocument(context, database, snapshot, id);
    const program = await service.programs.open(database, design);
    const request = await functionRequest(context, database, id ?? null);
    const { document: made, response } = await program.update(functionName, await document.text(), request);
    if (made === undefined) return functionAnswer(context.services.config, response, { code: 200, type: HTML_TYPE });
    const saved = await save(context, database, made);
    const encodedId = encodeURIComponent(saved.id);
    const headers = { ...(fitsHeader(encodedId) && { 'x-svc-id': encodedId }), 'x-svc-update-newrev': saved.rev };
    return functionAnswer(context.services.config, response, { code: 201, type: HTML_TYPE, headers });
  });
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
