/**
 * Which resources there are, as data: three tables from a path below the server, a database or a design document to the
 * methods it has, and for each method who may use it and what answers. An endpoint is a row.
 *
 * A path ends in `/*` where further segments follow; it matches also without any of its own. The `allow` lists are those
 * of completion 1.8. HEAD needs no row: it is run as GET.
 */
import type { DocId } from '../documents/contract.ts';
import { type MaybePromise, whenReady } from '../shared/maybe-promise.ts';
import type { Right } from './access.ts';
import type { Answer, Context } from './context.ts';
import type { FunctionHandlers } from './function-handlers.ts';
import { allDocs, designDocs, localDocs } from './handlers/all-docs.ts';
import { postBulkDocs } from './handlers/bulk-docs.ts';
import { deleteDatabase, getDatabase, putDatabase } from './handlers/database.ts';
import { getLocalDocument } from './handlers/local-document.ts';
import { attachmentsNotImplemented, notImplemented } from './handlers/not-implemented.ts';
import { getDocument } from './handlers/read-document.ts';
import { getActiveTasks, getAllDatabases, getUp, getWelcome, postDatabaseInfos } from './handlers/server.ts';
import { getUuids } from './handlers/uuids.ts';
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
  ['favicon.ico', resource('GET,HEAD', { GET: anyone((context) => useLent(context, ({ getIcon }) => getIcon())) })],
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
  ['_bulk_get', resource('POST', { POST: member(lent('postBulkGet')) })],
  ['_revs_diff', resource('POST', { POST: member(lent('postRevsDiff')) })],
  ['_missing_revs', resource('POST', { POST: member(lent('postMissingRevs')) })],
  ['_ensure_full_commit', resource('POST', { POST: member(lent('postEnsureFullCommit')) })],
  ['_purge', resource('POST', { POST: databaseAdmin(lent('postPurge')) })],
  ['_compact', resource('POST', { POST: databaseAdmin(lent('postCompact')) })],
  ['_compact/*', resource('POST', { POST: databaseAdmin(lent('postCompactViews')) })],
  ['_view_cleanup', resource('POST', { POST: databaseAdmin(lent('postViewCleanup')) })],
  ['_security', resource('PUT,GET', { GET: member(lent('getSecurity')), PUT: databaseAdmin(lent('putSecurity')) })],
  ['_revs_limit', resource('PUT,GET', { GET: member(lent('getRevsLimit')), PUT: databaseAdmin(lent('putRevsLimit')) })],
  ['_changes', later('GET,HEAD,POST', 'The changes feed is')],
  ['_temp_view', resource('POST', { POST: databaseAdmin(lent('postTemporaryView')) })],
  ['_find', resource('POST', { POST: member(lent('postFind')) })],
  ['_explain', resource('POST', { POST: member(lent('postExplain')) })],
  [
    '_index/*',
    resource('GET,POST,DELETE', {
      GET: member(lent('getIndexes')),
      POST: databaseAdmin(lent('postIndex')),
      DELETE: databaseAdmin(lent('deleteIndex')),
    }),
  ],
]);

/** What stands behind `_design/{ddoc}/`. */
export const DESIGN: Table<DatabaseHandler> = new Map<string, Resource<DatabaseHandler>>([
  ['_info', resource('GET', { GET: member(lent('getIndexInfo')) })],
  ['_view/*', resource('GET,POST,HEAD', { GET: member(lent('getView')), POST: member(lent('postView')) })],
  ['_list/*', alike('GET,POST,HEAD', member(lent('list')))],
  ['_show/*', alike('GET,POST,HEAD,PUT,DELETE', member(lent('show')))],
  [
    '_update/*',
    resource('PUT,POST', { PUT: member(lent('update')), POST: member(lent('update')), GET: member(lent('refuseGet')) }),
  ],
  ['_rewrite/*', alike('GET,POST,HEAD,PUT,DELETE,COPY', member(lent('answerRewritten')))],
]);

export const DOCUMENT: Resource<DocumentHandler> = resource('DELETE,GET,HEAD,POST,PUT,COPY', {
  GET: member(getDocument),
  PUT: member(putDocument),
  DELETE: member(deleteDocument),
  COPY: member(copyLater),
  POST: member(postForm),
});

export const LOCAL_DOCUMENT: Resource<DocumentHandler> = resource('DELETE,GET,HEAD,POST,PUT,COPY', {
  GET: member(getLocalDocument),
  PUT: member(putDocument),
  DELETE: member(deleteDocument),
  COPY: member(copyLater),
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

/** All its methods do the same. */
function alike<H>(allow: string, action: Action<H>): Resource<H> {
  return { allow, actions: new Map(allow.split(',').map((method) => [method, action])) };
}

/** What a later version answers: the methods it will have say so. */
function later(allow: string, what: string): Resource<() => never> {
  return alike(allow, anyone(notImplemented(what)));
}

/** One of the handlers that a browser loads on first use. */
function lent(name: Exclude<keyof FunctionHandlers, 'answerOpenRevisions' | 'copyDocument'>): DatabaseHandler {
  return (context, database, rest) => useLent(context, (handlers) => handlers[name](context, database, rest));
}

function copyLater(context: Context, database: string, id: DocId): MaybePromise<Answer> {
  return useLent(context, ({ copyDocument }) => copyDocument(context, database, id));
}

function useLent(context: Context, answer: (handlers: FunctionHandlers) => MaybePromise<Answer>): MaybePromise<Answer> {
  return whenReady(context.services.functionHandlers(), answer);
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
