import PouchDB from 'pouchdb/dist/pouchdb.min.js';
import { start } from 'settee';

/**
 * A private session of WebKit, which its driver gives, keeps no Blobs in IndexedDB and aborts the transaction that has put one; PouchDB tries it
 * in the transaction in which it sets up its database, and waits for ever. Where a Blob is refused at once, it keeps attachments as text.
 */
if (/AppleWebKit(?!.*Chrome)/.test(navigator.userAgent)) {
  const { prototype } = IDBObjectStore;
  const { put } = prototype;
  prototype.put = function (this: IDBObjectStore, value: unknown, key?: IDBValidKey) {
    if (value instanceof Blob) throw new DOMException('no Blobs in a private session', 'DataCloneError');
    return put.call(this, value, key);
  };
}

/** PouchDB in a page, with a database of its own, kept in sync with one of Settee's by plain `fetch` through the service worker. */
const local = new PouchDB('beside');

const pouch = {
  /** Both directions, until the page is gone. */
  keepInSync: async (): Promise<void> => {
    await start({ base: '/db/' });
    const live = { live: true, retry: true };
    local.sync(new PouchDB(`${location.origin}/db/notes`), live);
  },
  put: (document: { readonly _id: string }): Promise<unknown> => local.put(document),
  attach: (id: string, name: string, text: string): Promise<unknown> =>
    local.putAttachment(id, name, new Blob([text]), 'text/plain'),
  get: (id: string): Promise<unknown> => local.get(id, { conflicts: true }).catch((error) => ({ error: error.name })),
  attachment: async (id: string, name: string): Promise<string> => (await local.getAttachment(id, name)).text(),
};

Object.assign(globalThis, { pouch });
