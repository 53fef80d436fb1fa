/**
 * Who is measured: what `key` names is a module of this folder. The notes stand below the table. All licences are Apache-2.0 (SQLite itself is
 * in the public domain, PostgreSQL has its own, which is like MIT); nothing of them gets into a package of ours.
 */
const INDEXEDDB =
  "IndexedDB's own durability, relaxed in Chromium: a write survives the end of the browser, not always a power cut";

export const PEERS = [
  {
    key: 'settee',
    name: 'Settee',
    note: 'settee.fetch, core in a worker, IndexedDB with relaxed durability; power cut: X-Svc-Full-Commit. Queries: _index and _find; sums: a view with _sum. Reads may come from the worker’s cache, none from the page’s memory',
  },
  {
    key: 'dexie',
    // The version that RxDB wants, as a page takes only one.
    packages: ['dexie'],
    name: 'Dexie',
    note: `in the page; ${INDEXEDDB}; power cut: chromeTransactionDurability 'strict'. The index is one of a new version of the database; sums are made in the page of the documents in the range. Nothing is answered from the page’s memory`,
  },
  {
    key: 'rxdb',
    packages: ['rxdb'],
    name: 'RxDB on Dexie',
    note: `in the page, multiInstance false; ${INDEXEDDB}; power cut: as with Dexie. The index is in the schema from the beginning, so that writes pay for it and the first query does not. Documents and results of queries that were read before are answered from the page’s memory`,
  },
  {
    key: 'sqlite-default',
    packages: ['@sqlite.org/sqlite-wasm'],
    name: 'SQLite, default journal',
    note: 'official WebAssembly build in a worker, VFS opfs-sahpool, synchronous=FULL (both PUT rows are the same). Documents are JSON text in a table; the index is one of an expression; sums by SQL. Reads may come from the worker’s page cache',
  },
  {
    key: 'sqlite-wal',
    packages: ['@sqlite.org/sqlite-wasm'],
    name: 'SQLite, WAL',
    note: 'the same with journal_mode=WAL, locking_mode=EXCLUSIVE and synchronous=NORMAL: a write survives the end of the browser, not always a power cut; power cut: synchronous=FULL',
  },
  {
    key: 'pglite-idb',
    packages: ['@electric-sql/pglite'],
    name: 'PGlite, IndexedDB',
    /** Of the single requests that the others get, because of the time they take. */
    share: 0.05,
    note: `in the page, storage idb://, a twentieth of the single requests; each statement, reading or writing, waits until changed files are in IndexedDB; ${INDEXEDDB}, and there is no setting for more. Documents are jsonb; the index is one of an expression; sums by SQL. All is read from the page’s memory, where the whole database is`,
  },
  {
    key: 'pglite-opfs',
    packages: ['@electric-sql/pglite'],
    name: 'PGlite, OPFS',
    share: 0.2,
    note: 'PGliteWorker, storage opfs-ahp://, a fifth of the single requests, relaxedDurability: written, not flushed; power cut: without it. Reads may come from the worker’s shared buffers',
  },
];
