/** PouchDB by itself, as a page of its own loads it. */
import PouchDB from 'pouchdb';
import indexeddb from 'pouchdb-adapter-indexeddb';

PouchDB.plugin(indexeddb);

export function newPouchDB(adapter, name) {
  return new PouchDB(name, { adapter });
}
