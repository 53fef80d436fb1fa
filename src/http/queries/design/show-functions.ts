/** Show functions: one document, or none, in any format (docs/http/functions.md#show-functions). */
import { DatabaseError } from '../../../base/errors/database-error.ts';
import { readDesign } from '../../documents/design-document.ts';
import type { Answer, Context } from '../../request/context.ts';
import { withSnapshot } from '../../request/snapshot-lease.ts';
import { matchesTag, notModified, tagOf } from '../../response/responses.ts';
import type { DesignService } from './design-service.ts';
import { functionAnswer, HTML_TYPE } from './function-answer.ts';
import { findFunctionDocument } from './function-document.ts';
import { functionRequest } from './function-request.ts';

/** `rest`: the design document's name, the function's, and the document's id, whose slashes need no encoding. */
export async function show(
  service: DesignService,
  context: Context,
  name: string,
  rest: readonly string[],
): Promise<Answer> {
  const [designName = '', functionName, ...idSegments] = rest;
  if (functionName === undefined) throw new DatabaseError('show_error', 'Invalid path.');
  const id = idSegments.length === 0 ? undefined : idSegments.join('/');
  return withSnapshot(context, name, async (snapshot, database) => {
    const design = await readDesign(snapshot, designName);
    const document = await findFunctionDocument(context, database, snapshot, id);
    const tag = await tagOf([design.id, design.rev, document.identity, ...requesterOf(context, database)]);
    if (context.method === 'GET' && matchesTag(context.header('if-none-match'), tag)) {
      return notModified(tag);
    }
    const program = await service.programs.open(database, design);
    const request = await functionRequest(context, database, id ?? null);
    const made = await program.show(functionName, await document.text(), request);
    return functionAnswer(context.services.config, made, {
      code: 200,
      type: HTML_TYPE,
      headers: { vary: 'Accept', etag: tag },
    });
  });
}

/** What a response depends on besides documents. */
export function requesterOf(context: Context, { security }: { readonly security: string }): readonly string[] {
  const { name, roles } = context.user;
  return [context.header('accept') ?? '', security, name ?? '', ...roles];
}
