import PouchDB from 'pouchdb/dist/pouchdb.js';
import { start } from 'settee';

/** A page that uses PouchDB as browsers get it: what it asks of its server, the service worker answers. Tests steer it by its global `pouch`. */

interface Seen {
  readonly ids: string[];
  /** What it followed has ended with this. */
  error?: string;
}

let db: PouchDB | undefined;
const seen: Seen = { ids: [] };

function database(): PouchDB {
  if (db === undefined) throw new Error('the page was not told to open a database');
  return db;
}

const pouch = {
  open: async (base: string, name: string): Promise<void> => {
    await start({ base });
    db = new PouchDB(`${location.origin}${base}${name}`);
  },
  /** Follows what changes, and notes the ids. */
  follow: (since: number | 'now'): void => {
    delete seen.error;
    database()
      .changes({ live: true, since, include_docs: true, heartbeat: 1_000 })
      .on('change', (change) => {
        if (change instanceof Object && 'id' in change) seen.ids.push(String(change.id));
      })
      .on('error', (error) => {
        seen.error = String(error);
      });
  },
  seen: (): Seen => seen,
  put: async (id: string): Promise<string> => (await database().put({ _id: id })).rev,
};
Reflect.set(globalThis, 'pouch', pouch);
