/** Finds the resource that a path names and the handler of the method (completion 1.1, 1.8), and asks who may use it. */
import type { DocId } from '../../documents/contract.ts';
import { parseDocId } from '../../documents/identifiers.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import { type MaybePromise, whenReady } from '../../shared/maybe-promise.ts';
import { integerSetting } from '../../system/config.ts';
import { isBelow, parseTarget } from '../address/target.ts';
import type { Answer, Context } from '../request/context.ts';
import { type DocumentHandler, find, handlerOf, isReserved, type Resource, useLent } from './resources.ts';
import { DATABASE, DOCUMENT, LOCAL_DOCUMENT, SERVER } from './routes.ts';

const ICON = 'favicon.ico';
const DESIGN_WORD = '_design';
const LOCAL_WORD = '_local';

/** Answers the request, or fails with what the error table knows. */
export function dispatch(context: Context): MaybePromise<Answer> {
  context.dispatch = dispatch;
  checkLength(context);
  const { basePath } = context.services;
  if (!isBelow(context.request.url, basePath)) throw outside(basePath);
  const { segments, search } = parseTarget(context.request.url, basePath);
  context.search = search;
  const first = segments[0] ?? '';
  const rest = segments.slice(1);
  const server = find(SERVER, first, rest);
  if (server !== undefined) return handlerOf(context, server.resource)(context, server.rest);
  if (!(isReserved(first) || first === ICON) || context.services.registry.has(first)) {
    return dispatchInDatabase(context, first, rest);
  }
  const seldom = useLent(context, ({ answerOfServer }) => answerOfServer(context, first, rest));
  return whenReady(seldom, (answer) => {
    if (answer !== undefined) return answer;
    if (SERVER.has(first)) throw new DatabaseError('not_found', 'missing');
    return dispatchInDatabase(context, first, rest);
  });
}

function dispatchInDatabase(context: Context, database: string, path: readonly string[]): MaybePromise<Answer> {
  const first = path[0] ?? '';
  requireDatabase(context, database, path);
  if (isReserved(first)) return dispatchReserved(context, database, path);
  if (path.length === 1) return answerDocument(context, DOCUMENT, database, parseDocId(first));
  const found = find(DATABASE, first, path.slice(1));
  if (found !== undefined) return handlerOf(context, found.resource)(context, database, found.rest);
  // An id that can't be is told before what is missing of its attachments.
  parseDocId(first);
  return useLent(context, ({ answerAttachment }) => answerAttachment(context, database, path));
}

function dispatchReserved(context: Context, database: string, path: readonly string[]): MaybePromise<Answer> {
  const [first = '', ...rest] = path;
  if (first === DESIGN_WORD) return dispatchInDesign(context, database, rest);
  if (first === LOCAL_WORD) return dispatchLocal(context, database, rest);
  if (first.startsWith(`${DESIGN_WORD}/`)) return dispatchEncodedDesign(context, database, path);
  if (first.startsWith(`${LOCAL_WORD}/`)) {
    return dispatchLocal(context, database, [first.slice(LOCAL_WORD.length + 1), ...rest]);
  }
  const found = find(DATABASE, first, rest);
  if (found !== undefined) return handlerOf(context, found.resource)(context, database, found.rest);
  const seldom = useLent(context, ({ answerOfDatabase }) => answerOfDatabase(context, database, first, rest));
  return whenReady(seldom, (answer) => {
    if (answer !== undefined) return answer;
    if (DATABASE.has(first)) throw new DatabaseError('not_found', 'missing');
    return answerDocument(context, DOCUMENT, database, parseDocId(first));
  });
}

/** A design document, what belongs to it, or an attachment of it. */
function dispatchInDesign(context: Context, database: string, path: readonly string[]): MaybePromise<Answer> {
  const [name = '', ...rest] = path;
  const id = parseDocId(path.length === 0 ? DESIGN_WORD : `${DESIGN_WORD}/${name}`);
  if (rest.length === 0) return answerDocument(context, DOCUMENT, database, id);
  return useLent(context, ({ answerOfDesign }) => answerOfDesign(context, database, name, rest));
}

/** `_design%2Fx`: readers are sent to the plain slash; for all others both mean the same. */
function dispatchEncodedDesign(context: Context, database: string, path: readonly string[]): MaybePromise<Answer> {
  const [first = '', ...rest] = path;
  if (context.method === 'GET') {
    return useLent(context, ({ redirectToDesign }) => redirectToDesign(context, database, path));
  }
  return dispatchInDesign(context, database, [first.slice(DESIGN_WORD.length + 1), ...rest]);
}

/** Local documents have an id of one segment (completion 5.3). */
function dispatchLocal(context: Context, database: string, path: readonly string[]): MaybePromise<Answer> {
  if (path.length > 1) throw new DatabaseError('bad_request', '_local documents do not accept attachments.');
  return answerDocument(context, LOCAL_DOCUMENT, database, parseDocId(`${LOCAL_WORD}/${path[0] ?? ''}`));
}

function answerDocument(
  context: Context,
  resource: Resource<DocumentHandler>,
  database: string,
  id: DocId,
): MaybePromise<Answer> {
  return handlerOf(context, resource)(context, database, id);
}

/** A database that isn't there is missing before anything below it is (completion 1.13). */
function requireDatabase(context: Context, database: string, path: readonly string[]): void {
  const maySayItself = path.length === 0 && (context.method === 'PUT' || context.method === 'DELETE');
  if (maySayItself || context.services.registry.has(database)) return;
  throw new DatabaseError('not_found', 'no_db_file');
}

function outside(basePath: string): DatabaseError {
  return new DatabaseError('not_found', `This service answers below ${basePath}/ only; begin the path with that.`);
}

/** completion 1.4 */
function checkLength(context: Context): void {
  const limit = integerSetting(context.services.config, 'httpd', 'max_uri_length');
  if (limit === undefined || context.request.url.length <= limit) return;
  throw new DatabaseError('too_long', 'the request entity is too long');
}
