/**
 * Which resources there are, as data: tables from a path below the server or a database to the methods it has, and for each
 * method who may use it and what answers. An endpoint is a row. Here are those that every app needs; the others are in
 * `seldom-routes.ts`, which browsers load on first use.
 *
 * The `allow` lists are those of completion 1.8. HEAD needs no row: it is run as GET.
 */
import type { DocId } from '../../documents/contract.ts';
import type { MaybePromise } from '../../shared/maybe-promise.ts';
import { deleteDatabase, getDatabase, putDatabase } from '../database/database.ts';
import { postBulkDocs } from '../documents/bulk-docs.ts';
import { getLocalDocument } from '../documents/local-document.ts';
import { getDocument } from '../documents/read-document.ts';
import { deleteDocument, postDocument, putDocument } from '../documents/write-document.ts';
import { getAllDocs, postAllDocs } from '../lists/all-docs.ts';
import type { Answer, Context } from '../request/context.ts';
import { getAllDatabases, getUp, getWelcome } from '../server/welcome.ts';
import {
  anyone,
  type DatabaseHandler,
  type DocumentHandler,
  member,
  type Resource,
  resource,
  type ServerHandler,
  serverAdmin,
  type Table,
  useLent,
} from './resources.ts';

export const SERVER: Table<ServerHandler> = new Map<string, Resource<ServerHandler>>([
  ['', resource('GET,HEAD', { GET: anyone(getWelcome) })],
  ['_all_dbs', resource('GET,HEAD', { GET: anyone(getAllDatabases) })],
  ['_up', resource('GET,HEAD', { GET: anyone(getUp) })],
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
  ['_all_docs', resource('GET,POST,HEAD', { GET: member(getAllDocs), POST: member(postAllDocs) })],
  ['_bulk_docs', resource('POST', { POST: member(postBulkDocs) })],
]);

export const DOCUMENT = documentRead(getDocument);

export const LOCAL_DOCUMENT = documentRead(getLocalDocument);

/** Documents of both kinds differ in how they are read. */
function documentRead(read: DocumentHandler): Resource<DocumentHandler> {
  return resource('DELETE,GET,HEAD,POST,PUT,COPY', {
    GET: member(read),
    PUT: member(putDocument),
    DELETE: member(deleteDocument),
    COPY: member(copyLater),
    POST: member(postFormLater),
  });
}

function copyLater(context: Context, database: string, id: DocId): MaybePromise<Answer> {
  return useLent(context, ({ copyDocument }) => copyDocument(context, database, id));
}

function postFormLater(context: Context): MaybePromise<Answer> {
  return useLent(context, ({ postForm }) => postForm(context));
}
