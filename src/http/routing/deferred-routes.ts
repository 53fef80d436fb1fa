/** The resources that few requests are for, of the same form as those of `routes.ts`. Browsers load them on first use. */
import { DatabaseError } from '../../errors/database-error.ts';
import type { MaybePromise } from '../../shared/maybe-promise.ts';
import { getRevsLimit, getSecurity, putRevsLimit, putSecurity } from '../database/settings.ts';
import { postCompact, postEnsureFullCommit } from '../database/upkeep.ts';
import { list } from '../design/list-functions.ts';
import { answerRewritten } from '../design/rewrites.ts';
import { show } from '../design/show-functions.ts';
import { refuseGet, update } from '../design/update-functions.ts';
import { refuseAttachment } from '../documents/unsupported-attachments.ts';
import { deleteIndex, getIndexes, postExplain, postFind, postIndex } from '../find/find.ts';
import { allDocs, designDocs, localDocs } from '../lists/list-handlers.ts';
import { postBulkGet } from '../replication/bulk-get.ts';
import { postMissingRevs, postPurge, postRevsDiff } from '../replication/revision-diffs.ts';
import type { Answer, Context } from '../request/context.ts';
import { encodeDocId, ownBase } from '../response/locations.ts';
import { getIcon } from '../server/icon.ts';
import { getActiveTasks, postDatabaseInfos } from '../server/insight.ts';
import { notImplemented } from '../server/not-implemented.ts';
import { getUuids } from '../server/uuids.ts';
import { getIndexInfo, postCompactViews, postViewCleanup } from '../views/view-index.ts';
import { getView, postTemporaryView, postView } from '../views/views.ts';
import {
  type Action,
  anyone,
  type DatabaseHandler,
  databaseAdmin,
  find,
  handlerOf,
  isReserved,
  member,
  type Resource,
  resource,
  type ServerHandler,
  serverAdmin,
  type Table,
} from './resources.ts';

const SERVER: Table<ServerHandler> = new Map<string, Resource<ServerHandler>>([
  ['_active_tasks', resource('GET,HEAD', { GET: serverAdmin(getActiveTasks) })],
  ['_dbs_info', resource('POST', { POST: anyone(postDatabaseInfos) })],
  ['_uuids', resource('GET', { GET: anyone(getUuids) })],
  ['favicon.ico', resource('GET,HEAD', { GET: anyone(getIcon) })],
  ['_config/*', later('GET,PUT,DELETE', 'The configuration interface is')],
  ['_cluster_setup', later('GET,POST', 'What is asked of a cluster is')],
  ['_db_updates', later('GET', 'The feed of database events is')],
  ['_log', later('GET,POST', 'Reading the log is')],
  ['_membership', later('GET', 'What is asked of a cluster is')],
  ['_node/*', later('GET,PUT,DELETE', 'What is asked of a node is')],
  ['_replicate', later('POST', 'Replication is')],
  ['_restart', later('POST', 'Restarting over HTTP is')],
  ['_scheduler/*', later('GET', 'The list of replications is')],
  ['_session', later('GET,HEAD,POST,DELETE', 'Sessions are')],
  ['_stats/*', later('GET', 'Statistics are')],
  ['_utils/*', later('GET,HEAD', 'The web interface is')],
]);

const DATABASE: Table<DatabaseHandler> = new Map<string, Resource<DatabaseHandler>>([
  ['_all_docs/queries', resource('POST', { POST: member(allDocs.postQueries) })],
  ['_design_docs', resource('GET,POST,HEAD', { GET: member(designDocs.get), POST: member(designDocs.post) })],
  ['_design_docs/queries', resource('POST', { POST: member(designDocs.postQueries) })],
  ['_local_docs', resource('GET,POST,HEAD', { GET: member(localDocs.get), POST: member(localDocs.post) })],
  ['_local_docs/queries', resource('POST', { POST: member(localDocs.postQueries) })],
  ['_bulk_get', resource('POST', { POST: member(postBulkGet) })],
  ['_revs_diff', resource('POST', { POST: member(postRevsDiff) })],
  ['_missing_revs', resource('POST', { POST: member(postMissingRevs) })],
  ['_ensure_full_commit', resource('POST', { POST: member(postEnsureFullCommit) })],
  ['_purge', resource('POST', { POST: databaseAdmin(postPurge) })],
  ['_compact', resource('POST', { POST: databaseAdmin(postCompact) })],
  ['_compact/*', resource('POST', { POST: databaseAdmin(postCompactViews) })],
  ['_view_cleanup', resource('POST', { POST: databaseAdmin(postViewCleanup) })],
  ['_security', resource('PUT,GET', { GET: member(getSecurity), PUT: databaseAdmin(putSecurity) })],
  ['_revs_limit', resource('PUT,GET', { GET: member(getRevsLimit), PUT: databaseAdmin(putRevsLimit) })],
  ['_changes', later('GET,HEAD,POST', 'The changes feed is')],
  ['_temp_view', resource('POST', { POST: databaseAdmin(postTemporaryView) })],
  ['_find', resource('POST', { POST: member(postFind) })],
  ['_explain', resource('POST', { POST: member(postExplain) })],
  [
    '_index/*',
    resource('GET,POST,DELETE', {
      GET: member(getIndexes),
      POST: databaseAdmin(postIndex),
      DELETE: databaseAdmin(deleteIndex),
    }),
  ],
]);

/** What stands behind `_design/{ddoc}/`. */
const DESIGN: Table<DatabaseHandler> = new Map<string, Resource<DatabaseHandler>>([
  ['_info', resource('GET', { GET: member(getIndexInfo) })],
  ['_view/*', resource('GET,POST,HEAD', { GET: member(getView), POST: member(postView) })],
  ['_list/*', resource('GET,POST,HEAD', { GET: member(list), POST: member(list), OPTIONS: member(list) })],
  ['_show/*', alike('GET,POST,HEAD,PUT,DELETE,COPY,OPTIONS', member(show))],
  ['_update/*', resource('PUT,POST', { PUT: member(update), POST: member(update), GET: member(refuseGet) })],
  ['_rewrite/*', alike('GET,POST,HEAD,PUT,DELETE,COPY,OPTIONS', member(answerRewritten))],
]);

const ATTACHMENT: Resource<DatabaseHandler> = resource('DELETE,GET,HEAD,PUT', {
  GET: member(refuseAttachment),
  PUT: member(refuseAttachment),
  DELETE: member(refuseAttachment),
});

/** Undefined where nothing here has that path. */
export function answerOfServer(
  context: Context,
  first: string,
  rest: readonly string[],
): MaybePromise<Answer> | undefined {
  const found = find(SERVER, first, rest);
  if (found !== undefined) return handlerOf(context, found.resource)(context, found.rest);
  if (SERVER.has(first)) throw new DatabaseError('not_found', 'missing');
  return undefined;
}

/** Undefined where nothing here has that path. */
export function answerOfDatabase(
  context: Context,
  database: string,
  first: string,
  rest: readonly string[],
): MaybePromise<Answer> | undefined {
  const found = find(DATABASE, first, rest);
  if (found !== undefined) return handlerOf(context, found.resource)(context, database, found.rest);
  if (DATABASE.has(first)) throw new DatabaseError('not_found', 'missing');
  return undefined;
}

/** What belongs to the design document of that name, or an attachment of it. */
export function answerOfDesign(
  context: Context,
  database: string,
  name: string,
  path: readonly string[],
): MaybePromise<Answer> {
  const [first = '', ...rest] = path;
  const found = find(DESIGN, first, rest);
  if (found !== undefined) return handlerOf(context, found.resource)(context, database, [name, ...found.rest]);
  if (isReserved(first)) throw new DatabaseError('not_found', `missing handler: ${first}`);
  return answerAttachment(context, database, path);
}

export function answerAttachment(context: Context, database: string, path: readonly string[]): MaybePromise<Answer> {
  return handlerOf(context, ATTACHMENT)(context, database, path);
}

/** A reader who wrote a design document's slash as `%2F` is sent to the plain one. */
export function redirectToDesign(context: Context, database: string, path: readonly string[]): Answer {
  const [id = '', ...rest] = path;
  const plain = [encodeURIComponent(database), encodeDocId(id), ...rest.map(encodeURIComponent)].join('/');
  const query = context.search === '' ? '' : `?${context.search}`;
  return { status: 301, headers: { location: `${ownBase(context)}/${plain}${query}` }, body: null };
}

/** All its methods do the same. */
function alike<H>(allow: string, action: Action<H>): Resource<H> {
  return { allow, actions: new Map(allow.split(',').map((method) => [method, action])) };
}

/** What a later version answers: the methods it will have say so. */
function later(allow: string, what: string): Resource<() => never> {
  return alike(allow, anyone(notImplemented(what)));
}
