/**
 * Which resources there are, as data: three tables from a path below the server, a database or a design document to the
 * methods it has, and for each method who may use it and what answers. An endpoint is a row.
 *
 * A path ends in `/*` where further segments follow; it matches also without any of its own. The `allow` lists are those
 * of completion 1.8. HEAD needs no row: it is run as GET.
 */
import type { DocId } from '../documents/contract.ts';
import type { MaybePromise } from '../shared/maybe-promise.ts';
import type { Right } from './access.ts';
import type { Answer, Context } from './context.ts';
import { allDocs, designDocs, localDocs } from './handlers/all-docs.ts';
import { postBulkDocs } from './handlers/bulk-docs.ts';
import { postBulkGet } from './handlers/bulk-get.ts';
import { copyDocument } from './handlers/copy-document.ts';
import { deleteDatabase, getDatabase, putDatabase } from './handlers/database.ts';
import { list } from './handlers/lists.ts';
import { getLocalDocument } from './handlers/local-document.ts';
import { attachmentsNotImplemented, notImplemented } from './handlers/not-implemented.ts';
import { getDocument } from './handlers/read-document.ts';
import { postMissingRevs, postPurge, postRevsDiff } from './handlers/replication-helpers.ts';
import { answerRewritten } from './handlers/rewrites.ts';
import { getActiveTasks, getAllDatabases, getIcon, getUp, getWelcome, postDatabaseInfos } from './handlers/server.ts';
import { getRevsLimit, getSecurity, putRevsLimit, putSecurity } from './handlers/settings.ts';
import { show } from './handlers/shows.ts';
import { refuseGet, update } from './handlers/updates.ts';
import { postCompact, postEnsureFullCommit } from './handlers/upkeep.ts';
import { getUuids } from './handlers/uuids.ts';
import { getIndexInfo, postCompactViews, postViewCleanup } from './handlers/view-index.ts';
import { getView, postTemporaryView, postView } from './handlers/views.ts';
import { deleteDocument, postDocument, postForm, putDocument } from './handlers/write-document.ts';

export type ServerHandler = (context: Context, rest: readonly string[]) => MaybePromise<Answer>;
/** `rest`: the segments behind the path's last named one. */
export type DatabaseHandler = (context: Context, database: string, rest: readonly string[]) => MaybePromise<Answer>;
export type DocumentHandler = (context: Context, database: string, id: DocId) => MaybePromise<Answer>;

export interface Action<H> {
  readonly right: Right;
  readonly handler: H;
}

export interface Resource<H> {
  /** For the `Allow` header. */
  readonly allow: string;
  readonly actions: ReadonlyMap<string, Action<H>>;
}

export type Table<H> = ReadonlyMap<string, Resource<H>>;

export const SERVER: Table<ServerHandler> = new Map<string, Resource<ServerHandler>>([
  ['', resource('GET,HEAD', { GET: anyone(getWelcome) })],
  ['_active_tasks', resource('GET,HEAD', { GET: serverAdmin(getActiveTasks) })],
  ['_all_dbs', resource('GET,HEAD', { GET: anyone(getAllDatabases) })],
  ['_dbs_info', resource('POST', { POST: anyone(postDatabaseInfos) })],
  ['_up', resource('GET,HEAD', { GET: anyone(getUp) })],
  ['_uuids', resource('GET', { GET: anyone(getUuids) })],
  ['favicon.ico', resource('GET,HEAD', { GET: anyone(getIcon) })],
  ['_config/*', later('GET,PUT,DELETE', 'The configuration interface is')],
  ['_db_updates', later('GET', 'The feed of database events is')],
  ['_log', later('GET,POST', 'Reading the log is')],
  ['_replicate', later('POST', 'Replication is')],
  ['_restart', later('POST', 'Restarting over HTTP is')],
  ['_session', later('GET,HEAD,POST,DELETE', 'Sessions are')],
  ['_stats/*', later('GET', 'Statistics are')],
  ['_utils/*', later('GET,HEAD', 'The web interface is')],
]);

export const DATABASE: Table<DatabaseHandler> = new Map<string, Resource<DatabaseHandler>>([
  [
    '',
    resource('DELETE,GET,HEAD,POST', {
      GET: member(getDatabase),
      PUT: serverAdmin(putDatabase),
      DELETE: serverAdmin(deleteDatabase),
      POST: member(postDocument),
    }),
  ],
  ['_all_docs', resource('GET,POST,HEAD', { GET: member(allDocs.get), POST: member(allDocs.post) })],
  ['_all_docs/queries', resource('POST', { POST: member(allDocs.postQueries) })],
  ['_design_docs', resource('GET,POST,HEAD', { GET: member(designDocs.get), POST: member(designDocs.post) })],
  ['_design_docs/queries', resource('POST', { POST: member(designDocs.postQueries) })],
  ['_local_docs', resource('GET,POST,HEAD', { GET: member(localDocs.get), POST: member(localDocs.post) })],
  ['_local_docs/queries', resource('POST', { POST: member(localDocs.postQueries) })],
  ['_bulk_docs', resource('POST', { POST: member(postBulkDocs) })],
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
  ['_find', later('POST', 'Selector queries are')],
  ['_explain', later('POST', 'Selector queries are')],
  ['_index/*', later('GET,POST,DELETE', 'Selector indexes are')],
]);

/** What stands behind `_design/{ddoc}/`. */
export const DESIGN: Table<DatabaseHandler> = new Map<string, Resource<DatabaseHandler>>([
  ['_info', resource('GET', { GET: member(getIndexInfo) })],
  ['_view/*', resource('GET,POST,HEAD', { GET: member(getView), POST: member(postView) })],
  ['_list/*', resource('GET,POST,HEAD', { GET: member(list), POST: member(list) })],
  [
    '_show/*',
    resource('GET,POST,HEAD,PUT,DELETE', {
      GET: member(show),
      POST: member(show),
      PUT: member(show),
      DELETE: member(show),
    }),
  ],
  ['_update/*', resource('PUT,POST', { PUT: member(update), POST: member(update), GET: member(refuseGet) })],
  [
    '_rewrite/*',
    resource('GET,POST,HEAD,PUT,DELETE,COPY', {
      GET: member(answerRewritten),
      POST: member(answerRewritten),
      PUT: member(answerRewritten),
      DELETE: member(answerRewritten),
      COPY: member(answerRewritten),
    }),
  ],
]);

export const DOCUMENT: Resource<DocumentHandler> = resource('DELETE,GET,HEAD,POST,PUT,COPY', {
  GET: member(getDocument),
  PUT: member(putDocument),
  DELETE: member(deleteDocument),
  COPY: member(copyDocument),
  POST: member(postForm),
});

export const LOCAL_DOCUMENT: Resource<DocumentHandler> = resource('DELETE,GET,HEAD,POST,PUT,COPY', {
  GET: member(getLocalDocument),
  PUT: member(putDocument),
  DELETE: member(deleteDocument),
  COPY: member(copyDocument),
  POST: member(postForm),
});

export const ATTACHMENT: Resource<DatabaseHandler> = resource('DELETE,GET,HEAD,PUT', {
  GET: member(attachmentsNotImplemented),
  PUT: member(attachmentsNotImplemented),
  DELETE: member(attachmentsNotImplemented),
});

function resource<H>(allow: string, actions: Readonly<Record<string, Action<H>>>): Resource<H> {
  return { allow, actions: new Map(Object.entries(actions)) };
}

/** What a later version answers: the methods it will have say so. */
function later(allow: string, what: string): Resource<() => never> {
  const action = anyone(notImplemented(what));
  return { allow, actions: new Map(allow.split(',').map((method) => [method, action])) };
}

function anyone<H>(handler: H): Action<H> {
  return { right: 'anyone', handler };
}

function member<H>(handler: H): Action<H> {
  return { right: 'member', handler };
}

function databaseAdmin<H>(handler: H): Action<H> {
  return { right: 'databaseAdmin', handler };
}

function serverAdmin<H>(handler: H): Action<H> {
  return { right: 'serverAdmin', handler };
}
