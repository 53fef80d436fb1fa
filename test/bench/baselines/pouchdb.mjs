/** PouchDB with its leveldb adapter, in a process of its own and without HTTP, doing the same work. */
import { join } from 'node:path';
import PouchDB from 'pouchdb';
import { bulkBodies, documentText, idKinds } from '../documents.mjs';
import { answerCalls } from '../processes.mjs';

let folder = '';
let opened = 0;

function openNew() {
  return new PouchDB(join(folder, `pouchdb-${++opened}`), { adapter: 'leveldb' });
}

async function timed(work) {
  const database = openNew();
  await database.info();
  const startedAt = performance.now();
  await work(database);
  const ms = performance.now() - startedAt;
  await database.destroy();
  return ms;
}

answerCalls({
  setFolder(path) {
    folder = path;
  },
  /** Milliseconds for all documents, a thousand at a time. The text is parsed outside of the time. */
  bulk(kind, count) {
    const batches = bulkBodies(idKinds[kind], { from: 0, to: count }).map((body) => JSON.parse(body).docs);
    return timed(async (database) => {
      for (const batch of batches) await database.bulkDocs(batch);
    });
  },
  /** Milliseconds for each put, `parallel` of them under way at a time. */
  async put(count, parallel) {
    const documents = Array.from({ length: count }, (_, index) =>
      JSON.parse(documentText(index, idKinds.sequential(index))),
    );
    const ms = await timed(async (database) => {
      let next = 0;
      const client = async () => {
        while (next < count) await database.put(documents[next++]);
      };
      await Promise.all(Array.from({ length: parallel }, client));
    });
    return ms / count;
  },
});
