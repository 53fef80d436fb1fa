/** The pieces of work that several scenarios do over HTTP. */
import { bulkBody, documentText, idKinds } from './documents.mjs';
import { Client, toRequest } from './http-client.mjs';

/** Documents in one `_bulk_docs` request. */
export const BATCH = 1_000;

const ids = (kind) => idKinds[kind];

/** Sends one database's requests to one server. */
export class Workload {
  database;
  #client;
  #parallel;

  /** `parallel` connections for what is done at a time. */
  static async open(server, database, parallel = 1) {
    const workload = new Workload();
    workload.database = database;
    workload.#client = await Client.open(server.port);
    workload.#parallel = parallel === 1 ? workload.#client : await Client.open(server.port, parallel);
    return workload;
  }

  close() {
    this.#client.close();
    if (this.#parallel !== this.#client) this.#parallel.close();
  }

  create() {
    return this.#client.ask('PUT', `/${this.database}`, undefined, 201);
  }

  remove() {
    return this.#client.ask('DELETE', `/${this.database}`);
  }

  info() {
    return this.#client.ask('GET', `/${this.database}`);
  }

  /** One request below the database's path; gives the answer's JSON. */
  ask(method, path, body, expected = 200) {
    return this.#client.ask(method, `/${this.database}${path}`, body, expected);
  }

  idOf(kind, index) {
    return ids(kind)(index);
  }

  /** Writes documents `from` to below `to`, a batch at a time, one batch after the other. Gives milliseconds. */
  async bulk(kind, from, to) {
    const requests = [];
    for (let start = from; start < to; start += BATCH)
      requests.push(this.bulkRequest(kind, start, Math.min(to, start + BATCH)));
    const answers = [];
    const { ms } = await this.#client.sendAll(requests, 201, (answer) => answers.push(answer));
    for (const answer of answers) assertAllWritten(answer);
    return ms;
  }

  /** As `bulk` for many documents: two requests at a time, made on the way. */
  async load(kind, from, to) {
    const clients = await Promise.all([Client.open(this.#client.port), Client.open(this.#client.port)]);
    const startedAt = performance.now();
    let next = from;
    const work = async (client) => {
      while (next < to) {
        const start = next;
        next = Math.min(to, next + BATCH);
        await client.sendAll([this.bulkRequest(kind, start, next)], 201, assertAllWritten);
      }
    };
    await Promise.all(clients.map(work));
    for (const client of clients) client.close();
    return performance.now() - startedAt;
  }

  bulkRequest(kind, from, to) {
    return toRequest('POST', `/${this.database}/_bulk_docs`, bulkBody(ids(kind), from, to));
  }

  /** Puts the documents `indexes` as new ones. Gives `{ ms, latencies }`. */
  put(kind, indexes, { parallel = false } = {}) {
    const requests = Array.from(indexes, (index) => {
      const id = ids(kind)(index);
      return toRequest('PUT', `/${this.database}/${id}`, documentText(index, id));
    });
    return (parallel ? this.#parallel : this.#client).sendAll(requests, 201);
  }

  get(kind, indexes, { parallel = false, headers } = {}) {
    const requests = Array.from(indexes, (index) =>
      toRequest('GET', `/${this.database}/${ids(kind)(index)}`, undefined, headers),
    );
    return (parallel ? this.#parallel : this.#client).sendAll(requests, 200);
  }
}

/** Counts the rows of a `_bulk_docs` answer instead of parsing it. */
function assertAllWritten(answer) {
  const rows = answer.text.split('"rev":"').length - 1;
  const documents = answer.text.split('"id":"').length - 1;
  if (rows !== documents || rows === 0)
    throw new Error(`${rows} of ${documents} documents were written: ${answer.text.slice(0, 300)}`);
}

/** The whole numbers from `from` to below `to`. */
export function* range(from, to) {
  for (let index = from; index < to; index++) yield index;
}
