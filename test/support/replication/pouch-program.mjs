/** The program of `PouchProcess`: a PouchDB on LevelDB that carries out what its parent asks. Arguments: the folder and the limit of revisions. */
import PouchDB from 'pouchdb';

const [folder, revsLimit] = process.argv.slice(2);
const database = new PouchDB(folder, { revs_limit: Number(revsLimit) });

/**
 * Node's own `fetch`. That of PouchDB 9.0.0 (node-fetch 2.6.9) waits for ever when a connection ends in order in the middle of a body with
 * `Content-Length`. PouchDB reads attachments with `buffer()`, which only that one has.
 */
async function fetchWithBuffer(url, options) {
  const response = await globalThis.fetch(url, options);
  return Object.assign(response, { buffer: async () => Buffer.from(await response.arrayBuffer()) });
}

/**
 * When PouchDB 9.0.0 copies a leaf from a server to itself, and its own document has a live winner, it asks for each changed attachment
 * without `rev`: it stores those of the source's winner under the other leaf. If the winner has none of that name (404), it asks for all
 * attachments of the leaf with `rev`. So the answer here is 404, and PouchDB does everything else by itself.
 */
function withoutWrongAttachments(url) {
  const remote = new PouchDB(url, { skip_setup: true, fetch: fetchWithBuffer });
  const getAttachment = remote.getAttachment.bind(remote);
  remote.getAttachment = (id, name, options) =>
    options?.rev === undefined
      ? Promise.reject(Object.assign(new Error('a request without rev'), { status: 404 }))
      : getAttachment(id, name, options);
  return remote;
}

/** The database itself, or one at a URL. */
const endOf = (url) => (url === undefined ? database : withoutWrongAttachments(url));

async function replicate(source, target, options) {
  const { docs_read, docs_written, doc_write_failures, status } = await PouchDB.replicate(
    endOf(source),
    endOf(target),
    options,
  );
  return { docs_read, docs_written, doc_write_failures, status };
}

const own = { replicate };

process.on('message', async ({ number, method, given }) => {
  try {
    const result = await (own[method] ?? database[method].bind(database))(...given);
    process.send({ number, result });
  } catch (failure) {
    const { name, message, reason = message, status } = Object(failure);
    process.send({ number, failure: { name, reason: String(reason ?? failure), status } });
  }
});
// The requests from which PouchDB counts what is left to do fail unhandled when a connection breaks off.
process.on('unhandledRejection', () => undefined);
process.on('disconnect', () => process.exit());

await database.info();
process.send({ isReady: true });
