/** Update functions: they make a document of a request, which is then written as any other (completion 15). */
import type { Database, DocumentWrite } from '../../database/contract.ts';
import { isLocalId } from '../../documents/identifiers.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import { must } from '../../shared/assert.ts';
import { readDocument } from '../documents/careful-reading.ts';
import { ownKind } from '../documents/revision-sources.ts';
import { durabilityOf, writeLocal } from '../documents/writing.ts';
import type { Answer, Context } from '../request/context.ts';
import { withSnapshot } from '../request/snapshot-lease.ts';
import { MethodNotAllowed } from '../response/error-table.ts';
import { readDesign } from './design-document.ts';
import { functionAnswer, HTML_TYPE } from './function-answer.ts';
import { readFunctionDocument } from './function-document.ts';
import { functionRequest } from './function-request.ts';

/** `rest`: the design document's name, the function's, and the document's id, whose slashes may stand plain. */
export async function update(context: Context, name: string, rest: readonly string[]): Promise<Answer> {
  const [designName = '', functionName, ...idSegments] = rest;
  if (functionName === undefined) throw new DatabaseError('update_error', 'Invalid path.');
  const id = idSegments.length === 0 ? undefined : idSegments.join('/');
  return withSnapshot(context, name, async (snapshot, database) => {
    const design = await readDesign(snapshot, designName);
    const document = await readFunctionDocument(database, snapshot, id);
    const program = await context.services.programs.open(database, design);
    const request = await functionRequest(context, database, id ?? null);
    const { document: made, response } = await program.update(functionName, document.text, request);
    if (made === undefined) return functionAnswer(response, { code: 200, type: HTML_TYPE });
    const saved = await save(context, database, made);
    const headers = { 'x-svc-id': encodeURIComponent(saved.id), 'x-svc-update-newrev': saved.rev };
    return functionAnswer(response, { code: 201, type: HTML_TYPE, headers });
  });
}

/** GET and HEAD change nothing. */
export function refuseGet(): never {
  throw new MethodNotAllowed('PUT,POST', 'Update functions do not allow GET');
}

async function save(
  context: Context,
  database: Database,
  text: string,
): Promise<{ readonly id: string; readonly rev: string }> {
  const document = readDocument(text);
  const { id, rev, deleted, body } = document;
  if (id === undefined) throw new DatabaseError('bad_request', 'Document id must not be empty');
  const write: DocumentWrite = { id, rev: rev === undefined ? undefined : ownKind(id, rev), deleted, body };
  const options = { newEdits: true, durability: durabilityOf(context), user: context.user };
  if (isLocalId(id)) return { id, rev: await writeLocal(database, write, options) };
  const [outcome] = await database.write([write], options);
  const written = must(outcome);
  if (!written.ok) throw written.error;
  return written;
}
