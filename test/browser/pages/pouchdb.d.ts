/** What the tests use of PouchDB in a page, which brings no types of its own. */
declare module 'pouchdb/dist/pouchdb.min.js' {
  export default class PouchDB {
    constructor(name: string);
    put(document: { readonly _id: string }): Promise<unknown>;
    get(id: string, options?: object): Promise<unknown>;
    putAttachment(id: string, name: string, data: Blob, type: string): Promise<unknown>;
    getAttachment(id: string, name: string): Promise<Blob>;
    sync(other: PouchDB, options: object): unknown;
  }
}
