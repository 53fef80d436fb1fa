/** What Settee and PouchDB both do: the same documents, in turns, in the same page. */

import PouchDB from 'pouchdb';
import indexeddb from 'pouchdb-adapter-indexeddb';
import { draw } from '../documents.mjs';
import { interleave } from '../figures.mjs';
import { documentAt, documentsFrom, each, idOf, milliseconds, plainFetch, send } from './measuring.mjs';

// It brings the adapter idb along, and map/reduce.
PouchDB.plugin(indexeddb);

let made = 0;

export function newPouchDB(adapter, name = `pouch-${adapter}-${Date.now()}-${++made}`) {
  return new PouchDB(name, { adapter, auto_compaction: false });
}

/** Ours through a way, on a database of its own. */
async function ours(bench, fetch, name, work) {
  const path = `${bench.base}${name}`;
  await send(fetch, 'PUT', path);
  const result = await work(path, fetch);
  await send(fetch, 'DELETE', path);
  return result;
}

async function theirs(adapter, work) {
  const database = newPouchDB(adapter);
  await database.info();
  const result = await work(database);
  await database.destroy();
  return result;
}

export async function bulk(bench) {
  await bench.start();
  const count = bench.size(10_000, 2_000);
  const batches = Array.from({ length: count / 1_000 }, (_, batch) => documentsFrom(batch * 1_000, 1_000));
  const our = (fetch, name) =>
    ours(bench, fetch, name, (path) =>
      milliseconds(async () => {
        for (const docs of batches) await send(fetch, 'POST', `${path}/_bulk_docs`, JSON.stringify({ docs }));
      }),
    );
  const their = (adapter) =>
    theirs(adapter, (database) =>
      milliseconds(async () => {
        for (const docs of batches) await database.bulkDocs(docs);
      }),
    );
  const ms = await interleave(bench.size(5, 1), {
    bulkDirect: (round) => our(bench.settee.fetch, `bulk_direct_${round}`),
    bulkThrough: (round) => our(plainFetch, `bulk_through_${round}`),
    bulkIdb: () => their('idb'),
    bulkIndexeddb: () => their('indexeddb'),
  });
  await bench.settee.close();
  return { ...ms, bulkCount: count };
}

export async function put(bench) {
  await bench.start();
  const count = bench.size(500, 100);
  const many = bench.size(2_000, 500);
  const { fetch } = bench.settee;
  const our = (name, total, parallel) =>
    ours(bench, fetch, name, (path) =>
      each(total, parallel, (index) => send(fetch, 'PUT', `${path}/${idOf(index)}`, JSON.stringify(documentAt(index)))),
    );
  const their = (adapter, total, parallel) =>
    theirs(adapter, (database) => each(total, parallel, (index) => database.put(documentAt(index))));
  const bare = storing();
  const ms = await interleave(bench.size(5, 1), {
    putBare: () => each(count, 1, (index) => bare.store(JSON.stringify(documentAt(index)))),
    putDirect: (round) => our(`put_${round}`, count, 1),
    putIdb: () => their('idb', count, 1),
    putIndexeddb: () => their('indexeddb', count, 1),
    put50Direct: (round) => our(`put50_${round}`, many, 50),
    put50Idb: () => their('idb', many, 50),
    put50Indexeddb: () => their('indexeddb', many, 50),
  });
  bare.end();
  await bench.settee.close();
  return ms;
}

/** A worker that stores texts and does nothing else. */
function storing() {
  const worker = new Worker('/constant/storing-worker.js');
  const next = (type) => new Promise((resolve) => worker.addEventListener(type, resolve, { once: true }));
  const failed = next('error').then(({ message }) => Promise.reject(new Error(message)));
  return {
    store: (text) => {
      const stored = next('message');
      worker.postMessage(text);
      return Promise.race([stored, failed]);
    },
    end: () => {
      worker.terminate();
      indexedDB.deleteDatabase('bench-storing');
    },
  };
}

/** Fills a database of ours and one of each adapter with the same documents. */
export async function filled(bench, count, name) {
  const { fetch } = bench.settee;
  const path = `${bench.base}${name}`;
  await send(fetch, 'PUT', path);
  const databases = { idb: newPouchDB('idb'), indexeddb: newPouchDB('indexeddb') };
  for (let from = 0; from < count; from += 1_000) {
    const docs = documentsFrom(from, 1_000);
    await send(fetch, 'POST', `${path}/_bulk_docs`, JSON.stringify({ docs }));
    await databases.idb.bulkDocs(docs);
    await databases.indexeddb.bulkDocs(docs);
  }
  return {
    path,
    databases,
    remove: async () => {
      await send(fetch, 'DELETE', path);
      await databases.idb.destroy();
      await databases.indexeddb.destroy();
    },
  };
}

export async function get(bench) {
  await bench.start();
  const documents = bench.size(10_000, 2_000);
  const count = bench.size(1_000, 200);
  const { fetch } = bench.settee;
  const { path, databases, remove } = await filled(bench, documents, 'get');
  const idAt = (index) => idOf(draw(index, documents));
  const our = (parallel) => each(count, parallel, (index) => send(fetch, 'GET', `${path}/${idAt(index)}`));
  const their = (adapter, parallel) => each(count, parallel, (index) => databases[adapter].get(idAt(index)));
  const ms = await interleave(bench.size(21, 2), {
    getDirect: () => our(1),
    getIdb: () => their('idb', 1),
    getIndexeddb: () => their('indexeddb', 1),
    get50Direct: () => our(50),
    get50Idb: () => their('idb', 50),
    get50Indexeddb: () => their('indexeddb', 50),
  });
  await remove();
  await bench.settee.close();
  return ms;
}

export async function allDocs(bench) {
  await bench.start();
  const documents = bench.size(10_000, 2_000);
  const { fetch } = bench.settee;
  const { path, databases, remove } = await filled(bench, documents, 'all_docs');
  const our = (query) => milliseconds(() => send(fetch, 'GET', `${path}/_all_docs${query}`));
  const their = (adapter, options) => milliseconds(() => databases[adapter].allDocs(options));
  const ms = await interleave(bench.size(7, 2), {
    allDirect: () => our(''),
    allIdb: () => their('idb', {}),
    allIndexeddb: () => their('indexeddb', {}),
    docsDirect: () => our('?include_docs=true'),
    docsIdb: () => their('idb', { include_docs: true }),
    docsIndexeddb: () => their('indexeddb', { include_docs: true }),
  });
  await remove();
  await bench.settee.close();
  return { ...ms, allDocsCount: documents };
}
