/**
 * Which resources there are, as data: tables from a path below the server or a database to the methods it has, and for each
 * method who may use it and what answers. An endpoint is a row. Here are those that every app needs; the others are in
 * `seldom-routes.ts`, which browsers load on first use.
 *
 * The `allow` lists are those of completion 1.8. HEAD needs no row: it is run as GET.
 */
import { deleteDatabase, getDatabase, putDatabase } from '../database/database.ts';
import { postBulkDocs } from '../documents/bulk-docs.ts';
import { copyDocument } from '../documents/copy-document.ts';
import { getLocalDocument } from '../documents/local-document.ts';
import { getDocument } from '../documents/read-document.ts';
import { refuseForm } from '../documents/unsupported-attachments.ts';
import { deleteDocument, postDocument, putDocument } from '../documents/write-document.ts';
import { allDocs } from '../lists/list-handlers.ts';
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
  ['_all_docs', resource('GET,POST,HEAD', { GET: member(allDocs.get), POST: member(allDocs.post) })],
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
    COPY: member(copyDocument),
    POST: member(refuseForm),
  });
}
