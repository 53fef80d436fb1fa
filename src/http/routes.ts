/**
 * The resources, as data: tables from a path below the server, a database or a design document to its methods, and
 * for each method who may use it and which handler answers. An endpoint is a row; one of a part that is loaded on first use names
 * that part (`deferred`).
 *
 * The `allow` lists are those of docs/http/answers.md#allowed-methods. HEAD needs no row: it runs as GET.
 */

import { type MaybePromise, whenReady } from '../base/shared/maybe-promise.ts';
import type { DocId } from '../database/documents/contract.ts';
import { changesHandlers } from './database/change-handlers.ts';
import {
  deleteDatabase,
  getAllDatabases,
  getDatabase,
  getDatabaseInfos,
  postCompact,
  postDatabaseInfos,
  postEnsureFullCommit,
  putDatabase,
} from './database/databases.ts';
import { getRevsLimit, getSecurity, putRevsLimit, putSecurity } from './database/settings.ts';
import { deleteAttachment, getAttachment, putAttachment } from './documents/attachment-handlers.ts';
import { postBulkDocs } from './documents/bulk-docs.ts';
import { copyDocument } from './documents/copy-document.ts';
import { postForm } from './documents/form-upload.ts';
import { allDocs, designDocs, localDocs } from './documents/lists/list-handlers.ts';
import { getDocument, getLocalDocument } from './documents/read-document.ts';
import { missing } from './documents/revision-selection.ts';
import { deleteDocument, postDocument, putDocument } from './documents/write-document.ts';
import type { DesignPart } from './queries/design/design-handlers.ts';
import type { FindPart } from './queries/find/find-handlers.ts';
import type { ViewPart } from './queries/views/view-handlers.ts';
import { postBulkGet } from './replication/bulk-get.ts';
import type { ReplicatorPart } from './replication/replicator-handlers.ts';
import { postMissingRevs, postPurge, postRevsDiff } from './replication/revision-diffs.ts';
import type { Answer, Context } from './request/context.ts';
import type { AttachmentHandler, DatabaseHandler, DocumentHandler, ServerHandler } from './request/handlers.ts';
import {
  anyone,
  databaseAdmin,
  deferred,
  deferredOfServer,
  member,
  notImplemented,
  type Resource,
  refuse,
  resource,
  sameForAll,
  serverAdmin,
  type Table,
  withMethod,
} from './resources.ts';
import type { AccountsPart } from './server/accounts/accounts-part.ts';
import type { AdministrationPart } from './server/administration/administration-handlers.ts';
import { getDatabaseEvents } from './server/database-events.ts';
import { getActiveTasks, getUp, getUuids, getWelcome } from './server/server-handlers.ts';

/** The handlers of the parts that are loaded on first use. */
export interface DeferredParts {
  readonly accounts: () => MaybePromise<AccountsPart>;
  readonly views: () => MaybePromise<ViewPart>;
  readonly design: () => MaybePromise<DesignPart>;
  readonly find: () => MaybePromise<FindPart>;
  readonly replicator: () => MaybePromise<ReplicatorPart>;
  readonly administration: () => MaybePromise<AdministrationPart>;
}

export interface Routes {
  readonly server: Table<ServerHandler>;
  readonly database: Table<DatabaseHandler>;
  /** The resources below `_design/{ddoc}/`. Handlers get the design document's name as the first segment. */
  readonly design: Table<DatabaseHandler>;
  readonly document: Resource<DocumentHandler>;
  readonly localDocument: Resource<DocumentHandler>;
  readonly attachment: Resource<AttachmentHandler>;
}

export function createRoutes(options: DeferredParts): Routes {
  return {
    server: serverRoutes(options),
    database: new Map([...databaseRoutes(options), ...documentListRoutes(), ...replicationRoutes(options)]),
    design: designRoutes(options),
    document: documentRoutes(options),
    localDocument: localDocumentRoutes(),
    attachment: resource('DELETE,GET,HEAD,PUT', {
      GET: member(unlessAttachmentsHidden(getAttachment), undefined, 'own'),
      PUT: member(unlessAttachmentsHidden(putAttachment), undefined, 'own'),
      DELETE: member(unlessAttachmentsHidden(deleteAttachment), undefined, 'own'),
    }),
  };
}

function serverRoutes({ accounts, replicator, administration }: DeferredParts): Table<ServerHandler> {
  return new Map<string, Resource<ServerHandler>>([
    ['', resource('GET,HEAD', { GET: anyone(getWelcome) })],
    ['favicon.ico', resource('GET,HEAD', { GET: anyone(deferredOfServer(administration, 'getIcon')) })],
    ['_active_tasks', resource('GET,HEAD', { GET: serverAdmin(getActiveTasks) })],
    ['_all_dbs', resource('GET,HEAD', { GET: anyone(getAllDatabases) })],
    [
      '_dbs_info',
      resource('GET,HEAD,POST', { GET: anyone(getDatabaseInfos), POST: anyone(postDatabaseInfos, 'reads') }),
    ],
    ['_up', resource('GET,HEAD', { GET: anyone(getUp) })],
    ['_uuids', resource('GET', { GET: anyone(getUuids) })],
    ['_config/*', sameForAll('GET,PUT,DELETE', serverAdmin(deferredOfServer(administration, 'config')))],
    [
      '_cluster_setup',
      resource('GET,POST', {
        GET: serverAdmin(deferredOfServer(administration, 'getClusterSetup')),
        POST: serverAdmin(deferredOfServer(administration, 'postClusterSetup')),
      }),
    ],
    ['_db_updates', resource('GET', { GET: serverAdmin(getDatabaseEvents) })],
    [
      '_log',
      resource('GET,POST', {
        GET: serverAdmin(deferredOfServer(administration, 'getLog')),
        POST: anyone(deferredOfServer(administration, 'postLog')),
      }),
    ],
    ['_membership', resource('GET', { GET: serverAdmin(deferredOfServer(administration, 'getMembership')) })],
    ['_node/*', sameForAll('GET,PUT,POST,DELETE', serverAdmin(deferredOfServer(administration, 'node')))],
    ['_oauth/*', notImplemented('GET,POST', 'Handing out tokens of OAuth is')],
    ['_replicate', resource('POST', { POST: anyone(deferredOfServer(replicator, 'postReplicate')) })],
    ['_restart', resource('POST', { POST: serverAdmin(deferredOfServer(administration, 'postRestart')) })],
    ['_scheduler/*', resource('GET,HEAD', { GET: serverAdmin(deferredOfServer(replicator, 'getScheduler')) })],
    [
      '_session',
      resource('GET,HEAD,POST,DELETE', {
        GET: anyone(deferredOfServer(accounts, 'getSession')),
        POST: anyone(deferredOfServer(accounts, 'postSession')),
        DELETE: anyone(deferredOfServer(accounts, 'deleteSession')),
      }),
    ],
    ['_stats/*', resource('GET', { GET: anyone(deferredOfServer(administration, 'getStatistics')) })],
    ['_utils/*', resource('GET,HEAD', { GET: anyone(deferredOfServer(administration, 'getPage')) })],
  ]);
}

function databaseRoutes({ views, find, administration }: DeferredParts): Table<DatabaseHandler> {
  return new Map<string, Resource<DatabaseHandler>>([
    [
      '',
      resource('DELETE,GET,HEAD,POST', {
        GET: member(getDatabase, undefined, 'own'),
        PUT: serverAdmin(putDatabase),
        DELETE: serverAdmin(deleteDatabase),
        POST: member(postDocument, undefined, 'own'),
      }),
    ],
    ['_bulk_docs', resource('POST', { POST: member(postBulkDocs, undefined, 'own') })],
    ['_security', resource('PUT,GET', { GET: member(getSecurity, undefined, 'own'), PUT: databaseAdmin(putSecurity) })],
    [
      '_revs_limit',
      resource('PUT,GET', { GET: member(getRevsLimit, undefined, 'own'), PUT: databaseAdmin(putRevsLimit) }),
    ],
    ['_purge', resource('POST', { POST: databaseAdmin(postPurge) })],
    [
      '_auto_purge',
      resource('PUT,GET', {
        GET: member(deferred(administration, 'getAutoPurge')),
        PUT: databaseAdmin(deferred(administration, 'putAutoPurge')),
      }),
    ],
    ['_auto_purge/peers', resource('GET', { GET: databaseAdmin(deferred(administration, 'getPurgePeers')) })],
    [
      '_time_seq',
      resource('GET,DELETE', {
        GET: member(deferred(administration, 'getTimeSeq')),
        DELETE: databaseAdmin(deferred(administration, 'deleteTimeSeq')),
      }),
    ],
    ['_ensure_full_commit', resource('POST', { POST: member(postEnsureFullCommit, undefined, 'own') })],
    ['_compact', resource('POST', { POST: databaseAdmin(postCompact) })],
    ['_compact/*', resource('POST', { POST: databaseAdmin(deferred(views, 'postCompactViews')) })],
    ['_view_cleanup', resource('POST', { POST: databaseAdmin(deferred(views, 'postViewCleanup')) })],
    ['_temp_view', resource('POST', { POST: databaseAdmin(deferred(views, 'postTemporaryView'), 'reads') })],
    ['_find', resource('POST', { POST: member(deferred(find, 'postFind'), 'reads') })],
    ['_explain', resource('POST', { POST: member(deferred(find, 'postExplain'), 'reads') })],
    [
      '_index/*',
      resource('GET,POST,DELETE', {
        GET: member(deferred(find, 'getIndexes')),
        POST: databaseAdmin(deferred(find, 'postIndex')),
        DELETE: databaseAdmin(deferred(find, 'deleteIndex')),
      }),
    ],
  ]);
}

function documentListRoutes(): Table<DatabaseHandler> {
  return new Map(
    Object.entries({ _all_docs: allDocs, _design_docs: designDocs, _local_docs: localDocs }).flatMap(
      ([path, list]): [string, Resource<DatabaseHandler>][] => {
        const rule = list === allDocs ? 'list' : undefined;
        return [
          [
            path,
            resource('GET,POST,HEAD', {
              GET: member(list.get, undefined, rule),
              POST: member(list.post, 'reads', rule),
            }),
          ],
          [`${path}/queries`, resource('POST', { POST: member(list.postQueries, 'reads', rule) })],
        ];
      },
    ),
  );
}

function replicationRoutes({ design, find }: DeferredParts): Table<DatabaseHandler> {
  const changes = changesHandlers({
    byFunction: (...asked) => whenReady(design(), (part) => part.byFunction(...asked)),
    byView: (...asked) => whenReady(design(), (part) => part.byView(...asked)),
    bySelector: (...asked) => whenReady(find(), (part) => part.bySelector(...asked)),
  });
  return new Map<string, Resource<DatabaseHandler>>([
    ['_bulk_get', resource('POST', { POST: member(postBulkGet, 'reads') })],
    ['_revs_diff', resource('POST', { POST: member(postRevsDiff, 'reads') })],
    ['_missing_revs', resource('POST', { POST: member(postMissingRevs, 'reads') })],
    [
      '_changes',
      resource('GET,HEAD,POST', {
        GET: member(changes.get, undefined, 'changes'),
        POST: member(changes.post, 'reads', 'changes'),
      }),
    ],
  ]);
}

function designRoutes({ views, design }: DeferredParts): Table<DatabaseHandler> {
  const anyMethod = 'GET,POST,HEAD,PUT,DELETE,COPY,OPTIONS';
  const getView = member(deferred(views, 'getView'), undefined, 'functions');
  const list = member(deferred(design, 'list'), 'reads', 'functions');
  const update = member(deferred(design, 'update'), undefined, 'functions');
  const updateMethods = 'POST,PUT,DELETE,COPY,OPTIONS,PATCH';
  const refuseGet = member(refuse(updateMethods, 'Update functions do not allow GET'));
  return new Map<string, Resource<DatabaseHandler>>([
    ['_info', resource('GET', { GET: member(deferred(views, 'getIndexInfo'), undefined, 'functions') })],
    ['_compact', resource('POST', { POST: databaseAdmin(deferred(views, 'postCompactViews')) })],
    [
      '_view/*',
      resource('GET,POST,HEAD', { GET: getView, POST: member(deferred(views, 'postView'), 'reads', 'functions') }),
    ],
    ['_list/*', resource('GET,POST,HEAD', { GET: list, POST: list, OPTIONS: list })],
    ['_show/*', sameForAll(anyMethod, member(deferred(design, 'show'), 'reads', 'functions'))],
    ['_update/*', withMethod(sameForAll(updateMethods, update), 'GET', refuseGet)],
    ['_rewrite/*', sameForAll(anyMethod, member(deferred(design, 'answerRewritten'), undefined, 'functions'))],
  ]);
}

const DOCUMENT_METHODS = 'DELETE,GET,HEAD,POST,PUT,COPY';

function documentRoutes({ accounts }: DeferredParts): Resource<DocumentHandler> {
  const getShownDocument: DocumentHandler = (context, database, id) =>
    context.restriction === undefined
      ? getDocument(context, database, id)
      : whenReady(accounts(), (part) => part.getProtectedDocument(context, database, id));
  return resource(DOCUMENT_METHODS, {
    GET: member(getShownDocument, undefined, 'shown'),
    PUT: member(putDocument, undefined, 'own'),
    DELETE: member(unlessHidden(deleteDocument), undefined, 'own'),
    COPY: member(unlessHidden(copyDocument), undefined, 'own'),
    POST: member(unlessHidden(postForm), undefined, 'own'),
  });
}

function localDocumentRoutes(): Resource<DocumentHandler> {
  return resource(DOCUMENT_METHODS, {
    GET: member(getLocalDocument),
    PUT: member(putDocument),
    DELETE: member(deleteDocument),
    COPY: member(copyDocument),
    POST: member(postForm),
  });
}

type OfDocument<More extends readonly unknown[]> = (
  context: Context,
  database: string,
  id: DocId,
  ...more: More
) => MaybePromise<Answer>;

/** Answers 404 if the reader must not see whether such a document exists. */
function unlessHidden<More extends readonly unknown[]>(handler: OfDocument<More>): OfDocument<More> {
  return (context, database, id, ...more) => {
    if (context.restriction?.hides(id) === true) throw missing();
    return handler(context, database, id, ...more);
  };
}

function unlessAttachmentsHidden(handler: AttachmentHandler): AttachmentHandler {
  return unlessHidden((context, database, id, name) => {
    if (context.restriction?.hidesAttachments(id) === true) throw missing();
    return handler(context, database, id, name);
  });
}
