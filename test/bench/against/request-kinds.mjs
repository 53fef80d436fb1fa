/**
 * The kinds of requests that two builds are compared by. Each has a `name`, the number of requests of a round (`count`), and
 * `run(session, round)`, which makes them; `prepare(session)` runs once before. All builds get the same requests.
 */
import { documentText, draw } from '../documents.mjs';
import { Connection, toRequest } from '../http-client.mjs';
import { ask, createRows, sample } from '../scenarios/views.mjs';
import { views } from '../view-functions.mjs';
import { Workload } from '../workload.mjs';

const DOCUMENTS = 20_000;
const ROWS = 10_000;
const PIECE = Buffer.alloc(256 * 1024, 'Settee keeps attachments in pieces. ');
const NAME_AND_PASSWORD = { name: 'ana', password: 'secret of ana' };
const BASIC = `Basic ${Buffer.from(Object.values(NAME_AND_PASSWORD).join(':')).toString('base64')}`;
const SELECTOR = JSON.stringify({ selector: { born: { $gt: 1990, $lt: 1993 } }, limit: 50 });

/** What a server of one build is asked by: its connections, and what its documents are by now. */
export class Session {
  server;
  workload;
  connection;
  made = 0;
  revisions = new Map();
  cookie = '';

  static async open(server) {
    const session = new Session();
    session.server = server;
    session.workload = await Workload.open(server, 'bench', 50);
    session.connection = await Connection.open(server.port);
    await session.workload.create();
    await session.workload.bulk('sequential', 0, DOCUMENTS);
    return session;
  }

  close() {
    this.workload.close();
    this.connection.close();
  }

  /** Indexes of documents that are not there yet. */
  fresh(count) {
    const from = 1_000_000 + this.made;
    this.made += count;
    return Array.from({ length: count }, (_, step) => from + step);
  }

  ask(method, path, body) {
    return ask(this.connection, method, path, body === undefined ? undefined : JSON.stringify(body));
  }

  async count(path) {
    await this.connection.count(toRequest('GET', path));
  }

  get(count, round, options) {
    const indexes = Array.from({ length: count }, (_, step) => draw(step, DOCUMENTS, round));
    return this.workload.get('sequential', indexes, options);
  }
}

async function updateOnce(session, round, count) {
  for (let step = 0; step < count; step++) {
    const id = `updated-${step}`;
    const text = documentText(step, id, { rev: session.revisions.get(id), version: round });
    const answer = await session.connection.send(toRequest('PUT', `/bench/${id}`, text));
    if (answer.status !== 201) throw new Error(`PUT of ${id}: ${answer.status} ${answer.text}`);
    session.revisions.set(id, JSON.parse(answer.text).rev);
  }
}

async function queryAfterUpdate(session, round, count) {
  for (let step = 0; step < count; step++) {
    await session.ask('PUT', `/bench/changed-${round}-${step}`, { ...sample, n: step });
    await session.ask('GET', '/bench/_design/d/_view/families');
  }
}

async function buildViews(session, round) {
  const path = `/bench/_design/built-${round}`;
  const own = { ...views, people: { ...views.people, map: `${views.people.map} // ${round}` } };
  await session.ask('PUT', path, { views: own });
  await session.ask('GET', `${path}/_view/people`);
  const { _rev: rev } = JSON.parse((await session.ask('GET', path)).text);
  await session.ask('DELETE', `${path}?rev=${rev}`);
  await session.ask('POST', '/bench/_view_cleanup', {});
}

async function replicate(session, round) {
  await session.ask('POST', '/_replicate', { source: 'small', target: `copy-${round}`, create_target: true });
  await session.ask('DELETE', `/copy-${round}`);
}

async function storeAttachments(session, round, count) {
  for (let step = 0; step < count; step++) {
    const head = `PUT /bench/attached-${round}-${step}/piece HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/octet-stream\r\ncontent-length: ${PIECE.length}\r\n\r\n`;
    const answer = await session.connection.send(Buffer.concat([Buffer.from(head), PIECE]));
    if (answer.status !== 201) throw new Error(`PUT of an attachment: ${answer.status} ${answer.text}`);
  }
}

/** A user, then an admin: from here on a request without credentials is anonymous. */
async function addAccounts(session) {
  const answer = await session.connection.send(toRequest('PUT', '/_users'));
  if (![201, 412].includes(answer.status)) throw new Error(`PUT /_users: ${answer.status} ${answer.text}`);
  await session.ask('PUT', '/_users/org.couchdb.user:ana', { ...NAME_AND_PASSWORD, type: 'user', roles: [] });
  await session.ask('PUT', '/_config/admins/root', 'secret of root');
  const { headers } = await session.ask('POST', '/_session', NAME_AND_PASSWORD);
  session.cookie = String(headers['set-cookie']).split(';')[0];
}

export const requestKinds = [
  {
    name: 'PUT, new, one by one',
    count: 300,
    run: (session) => session.workload.put('sequential', session.fresh(300)),
  },
  { name: 'PUT, update, one by one', count: 200, run: (session, round) => updateOnce(session, round, 200) },
  {
    name: 'PUT, new, 50 at a time',
    count: 1_500,
    run: (session) => session.workload.put('sequential', session.fresh(1_500), { parallel: true }),
  },
  { name: 'GET, one by one', count: 500, run: (session, round) => session.get(500, round) },
  { name: 'GET, 50 at a time', count: 3_000, run: (session, round) => session.get(3_000, round, { parallel: true }) },
  {
    name: '_bulk_docs of 1,000',
    count: 4,
    run: (session) => session.workload.bulk('random', session.fresh(4_000)[0], 1_000_000 + session.made),
  },
  {
    name: '_all_docs of 20,000 with documents',
    count: 1,
    run: (session) => session.count('/bench/_all_docs?include_docs=true&limit=20000'),
  },
  { name: '_changes of 20,000', count: 1, run: (session) => session.count('/bench/_changes?limit=20000') },
  {
    name: 'view after one new document',
    count: 40,
    prepare: async (session) => {
      await session.ask('PUT', '/bench/_design/d', { views });
      await session.ask('GET', '/bench/_design/d/_view/families');
    },
    run: (session, round) => queryAfterUpdate(session, round, 40),
  },
  {
    name: '_sum over 10,000 rows',
    count: 300,
    prepare: (session) => createRows(session.connection, 'rows', ROWS),
    run: async (session) => {
      for (let step = 0; step < 300; step++) await session.ask('GET', '/rows/_design/d/_view/rows');
    },
  },
  {
    name: 'page of 100 rows of a view',
    count: 100,
    run: async (session, round) => {
      for (let step = 0; step < 100; step++)
        await session.ask(
          'GET',
          `/rows/_design/d/_view/rows?reduce=false&limit=100&startkey=${draw(step, ROWS, round)}`,
        );
    },
  },
  {
    name: '_find by an index',
    count: 60,
    prepare: (session) => session.ask('POST', '/bench/_index', { index: { fields: ['born'] } }),
    run: async (session) => {
      for (let step = 0; step < 60; step++) await ask(session.connection, 'POST', '/bench/_find', SELECTOR);
    },
  },
  { name: 'first build of 3 views', count: 1, run: buildViews },
  { name: 'attachments of 256 KiB, PUT', count: 20, run: (session, round) => storeAttachments(session, round, 20) },
  {
    name: 'attachments of 256 KiB, GET',
    count: 50,
    run: async (session, round) => {
      for (let step = 0; step < 50; step++) await session.count(`/bench/attached-${round}-${step % 20}/piece`);
    },
  },
  {
    name: 'replication of 4,000 within the server',
    count: 1,
    prepare: async (session) => {
      const small = await Workload.open(session.server, 'small');
      await small.create();
      await small.bulk('random', 0, 4_000);
      small.close();
    },
    run: replicate,
  },
  {
    name: 'GET with a session, 50 at a time',
    count: 3_000,
    prepare: addAccounts,
    run: (session, round) => session.get(3_000, round, { parallel: true, headers: { cookie: session.cookie } }),
  },
  {
    name: 'GET with a password, 50 at a time',
    count: 3_000,
    run: (session, round) => session.get(3_000, round, { parallel: true, headers: { authorization: BASIC } }),
  },
];
